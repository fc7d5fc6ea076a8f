package tensor_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server"
)

func BenchmarkTransfer(b *testing.B) {
	for _, size := range []int64{1 << 10, 1 << 20, 256 << 20} {
		data := random(size)
		c := dial(b, serve(b, server.Options{MemoryLimit: 4 << 30}), tensor.Options{})
		ctx := b.Context()
		b.Run(fmt.Sprintf("upload/%d", size), func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				if err := upload(ctx, c, 1, data); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("download/%d", size), func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				if err := c.Download(ctx, 1, size, io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("echo/%d", size), func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				if err := c.Echo(ctx, "a", size, bytes.NewReader(data), io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
