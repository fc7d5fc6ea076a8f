package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// epoch returns the timestamp of everything in the image, which makes the image reproducible.
func epoch() v1.Time { return v1.Time{Time: time.Unix(0, 0).UTC()} }

// pack writes the archive of the image, and returns the ID of the image, which is the digest of its configuration.
func pack(out io.Writer, binary []byte, arch, reference, version string) (v1.Hash, error) {
	tag, err := name.NewTag(reference)
	if err != nil {
		return v1.Hash{}, err
	}
	img, err := imageOf(binary, arch, version)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := tarball.Write(tag, img, out); err != nil {
		return v1.Hash{}, err
	}
	return img.ConfigName()
}

func imageOf(binary []byte, arch, version string) (v1.Image, error) {
	files, err := archiveOf("tensor-server", binary)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)), nil
	})
	if err != nil {
		return nil, err
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		Created: epoch(), Architecture: arch, OS: "linux",
		Config: v1.Config{
			User: "65532:65532", ExposedPorts: map[string]struct{}{fmt.Sprintf("%d/tcp", kind.TensorServerPort): {}},
			Entrypoint: []string{"/tensor-server"}, WorkingDir: "/",
			Labels: map[string]string{
				"org.opencontainers.image.title":   "tensor-server",
				"org.opencontainers.image.source":  "https://github.com/ktdev/terraform-provider-kt",
				"org.opencontainers.image.version": version,
			},
		},
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	return mutate.Append(img, mutate.Addendum{
		Layer: layer, History: v1.History{Created: epoch(), CreatedBy: "make tensor-image"},
	})
}

// archiveOf returns a tar archive with one executable file.
func archiveOf(file string, content []byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: file, Mode: 0o555, Size: int64(len(content)), ModTime: epoch().Time,
		Format: tar.FormatUSTAR,
	}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}
