package main

import (
	"archive/tar"
	"bytes"
	"io"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func TestImageIsReproducibleAndValid(t *testing.T) {
	t.Parallel()
	const reference = "example.com/tensor-server:1"
	var archive, again bytes.Buffer
	id, err := pack(&archive, []byte("binary"), "amd64", reference, "1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pack(&again, []byte("binary"), "amd64", reference, "1"); err != nil ||
		!bytes.Equal(archive.Bytes(), again.Bytes()) {
		t.Fatalf("the second archive differs: %v", err)
	}
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	img, err := tarball.Image(func() (io.ReadCloser,
		error) {
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	},
		&tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	if got, err := img.ConfigName(); err != nil || got != id {
		t.Errorf("ID %s, want %s, %v", got, id, err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.Entrypoint[0] != "/tensor-server" || config.Architecture != "amd64" || config.OS != "linux" ||
		config.Config.User != "65532:65532" {
		t.Errorf("config %+v", config)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	r := tar.NewReader(content)
	if h, err := r.Next(); err != nil || h.Name != "tensor-server" || h.Mode != 0o555 {
		t.Errorf("layer: %+v, %v", h, err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "binary" {
		t.Errorf("content: %q, %v", got, err)
	}
}

func TestNameOfTheImageIsChecked(t *testing.T) {
	t.Parallel()
	if _, err := pack(io.Discard, []byte("binary"), "amd64", "Example.com/Tensor:1", "1"); err == nil {
		t.Error("a name in upper case is accepted")
	}
}
