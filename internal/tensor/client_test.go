package tensor_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server"
)

func TestSmoke(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := dial(t, serve(t, server.Options{}), tensor.Options{})
	data := random(5<<20 + 123)
	l := layout.Of(layout.UInt8, int64(len(data)))
	if err := c.UploadBytes(ctx, 7, l, data); err != nil {
		t.Fatal(err)
	}
	got, gl, err := c.DownloadBytes(ctx, 7, layout.Layout{}, nil)
	if err != nil || !bytes.Equal(got, data) || !gl.Same(l) {
		t.Fatal(err, gl, len(got))
	}
}
