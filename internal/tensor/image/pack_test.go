package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestImageIsReproducibleAndHasValidDigests(t *testing.T) {
	t.Parallel()
	archive, digest, err := pack([]byte("binary"), "amd64", "example.com/tensor-server:1", "1")
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := pack([]byte("binary"), "amd64", "example.com/tensor-server:1", "1")
	if err != nil || !bytes.Equal(archive, again) {
		t.Fatalf("the second archive differs: %v", err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = content
		if sum, ok := strings.CutPrefix(h.Name, "blobs/sha256/"); ok {
			if got := sha256.Sum256(content); hex.EncodeToString(got[:]) != sum {
				t.Errorf("%s has another digest", h.Name)
			}
		}
	}
	var i index
	if err := json.Unmarshal(files["index.json"], &i); err != nil || i.Manifests[0].Digest != digest {
		t.Fatalf("index.json: %s, %v", files["index.json"], err)
	}
	var m manifest
	if err := json.Unmarshal(files[path(i.Manifests[0])], &m); err != nil {
		t.Fatal(err)
	}
	var c config
	if err := json.Unmarshal(files[path(m.Config)], &c); err != nil {
		t.Fatal(err)
	}
	if c.Config.Entrypoint[0] != "/tensor-server" || len(m.Layers) != 1 || c.RootFS.DiffIDs[0] != m.Layers[0].Digest {
		t.Errorf("config %+v of manifest %+v", c, m)
	}
	var d []dockerManifest
	if err := json.Unmarshal(files["manifest.json"], &d); err != nil {
		t.Fatal(err)
	}
	if files[d[0].Config] == nil || files[d[0].Layers[0]] == nil || d[0].RepoTags[0] != "example.com/tensor-server:1" {
		t.Errorf("manifest.json: %+v", d)
	}
	h, err := tar.NewReader(bytes.NewReader(files[d[0].Layers[0]])).Next()
	if err != nil || h.Name != "tensor-server" || h.Mode != 0o555 {
		t.Errorf("layer: %+v, %v", h, err)
	}
}
