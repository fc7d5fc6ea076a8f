package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

const (
	layerType    = "application/vnd.oci.image.layer.v1.tar"
	configType   = "application/vnd.oci.image.config.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
)

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type (
	config struct {
		Created      time.Time      `json:"created"`
		Architecture string         `json:"architecture"`
		OS           string         `json:"os"`
		Config       process        `json:"config"`
		RootFS       rootFS         `json:"rootfs"`
		History      []historyEntry `json:"history"`
	}
	process struct {
		User         string              `json:"User"`
		ExposedPorts map[string]struct{} `json:"ExposedPorts"`
		Entrypoint   []string            `json:"Entrypoint"`
		WorkingDir   string              `json:"WorkingDir"`
		Labels       map[string]string   `json:"Labels"`
	}
	rootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	}
	historyEntry struct {
		Created   time.Time `json:"created"`
		CreatedBy string    `json:"created_by"`
	}
	manifest struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Config        descriptor   `json:"config"`
		Layers        []descriptor `json:"layers"`
	}
	index struct {
		SchemaVersion int          `json:"schemaVersion"`
		Manifests     []descriptor `json:"manifests"`
	}
	dockerManifest struct {
		Config   string   `json:"Config"`
		RepoTags []string `json:"RepoTags"`
		Layers   []string `json:"Layers"`
	}
)

// epoch returns the timestamp of all files in the image, which makes the image reproducible.
func epoch() time.Time { return time.Unix(0, 0).UTC() }

type file struct {
	name    string
	mode    int64
	content []byte
}

// pack returns the archive and the digest of the image's manifest.
func pack(binary []byte, arch, reference, version string) (archive []byte, digest string, err error) {
	layer, err := archiveOf([]file{{"tensor-server", 0o555, binary}})
	if err != nil {
		return nil, "", err
	}
	var blobs []file
	add := func(mediaType string, content []byte) descriptor {
		sum := sha256.Sum256(content)
		name := hex.EncodeToString(sum[:])
		blobs = append(blobs, file{"blobs/sha256/" + name, 0o444, content})
		return descriptor{MediaType: mediaType, Digest: "sha256:" + name, Size: len(content)}
	}
	addJSON := func(mediaType string, v any) (descriptor, error) {
		content, err := json.Marshal(v)
		return add(mediaType, content), err
	}
	layerBlob := add(layerType, layer)
	configBlob, err := addJSON(configType, config{
		Created: epoch(), Architecture: arch, OS: "linux",
		Config: process{
			User: "65532:65532", ExposedPorts: map[string]struct{}{"50051/tcp": {}},
			Entrypoint: []string{"/tensor-server"},
			WorkingDir: "/",
			Labels: map[string]string{
				"org.opencontainers.image.title":   "tensor-server",
				"org.opencontainers.image.source":  "https://github.com/ktdev/terraform-provider-kt",
				"org.opencontainers.image.version": version,
			},
		},
		RootFS:  rootFS{Type: "layers", DiffIDs: []string{layerBlob.Digest}},
		History: []historyEntry{{Created: epoch(), CreatedBy: "make tensor-image"}},
	})
	if err != nil {
		return nil, "", err
	}
	manifestBlob, err := addJSON(manifestType, manifest{
		SchemaVersion: 2, MediaType: manifestType, Config: configBlob, Layers: []descriptor{layerBlob},
	})
	if err != nil {
		return nil, "", err
	}
	manifestBlob.Annotations = map[string]string{
		"io.containerd.image.name":          reference,
		"org.opencontainers.image.ref.name": version,
	}
	files, err := roots(index{SchemaVersion: 2, Manifests: []descriptor{manifestBlob}}, dockerManifest{
		Config: path(configBlob), RepoTags: []string{reference}, Layers: []string{path(layerBlob)},
	})
	if err != nil {
		return nil, "", err
	}
	archive, err = archiveOf(append(blobs, files...))
	return archive, manifestBlob.Digest, err
}

func path(d descriptor) string { return "blobs/sha256/" + d.Digest[len("sha256:"):] }

// roots returns the files that refer to the blobs.
func roots(i index, d dockerManifest) ([]file, error) {
	out := []file{{"oci-layout", 0o444, []byte(`{"imageLayoutVersion":"1.0.0"}`)}}
	for name, v := range map[string]any{"index.json": i, "manifest.json": []dockerManifest{d}} {
		content, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		out = append(out, file{name, 0o444, content})
	}
	if out[1].name > out[2].name {
		out[1], out[2] = out[2], out[1]
	}
	return out, nil
}

func archiveOf(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: epoch(),
			Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
