package image

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func configMap(t *testing.T, s Spec, packed map[Source][]Packed) (*unstructured.Unstructured, error) {
	t.Helper()
	d, err := Parse(s.Dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Render(s, d, "debian:12", packed)
	if err != nil {
		t.Fatal(err)
	}
	return ConfigMap(Meta{Name: "torch", Namespace: "ml", Username: "alice", Labels: map[string]string{"team": "ml"}},
		s, r)
}

func TestConfigMapContainsTextAsDataAndBytesAsBinaryData(t *testing.T) {
	t.Parallel()
	s := Spec{ImageID: "debian:12", Dockerfile: "COPY text bytes folder /app/"}
	obj, err := configMap(t, s, map[Source][]Packed{
		{Path: "text"}:   {PackFile("a b.txt", []byte("grüße"), 0o644)},
		{Path: "bytes"}:  {PackFile("x", []byte("\xff"), 0o644)},
		{Path: "folder"}: {directory(t, "folder", map[string]string{"a": "1"}, nil)},
	})
	if err != nil {
		t.Fatal(err)
	}
	data, _, _ := unstructured.NestedStringMap(obj.Object, "data")
	binary, _, _ := unstructured.NestedStringMap(obj.Object, "binaryData")
	if data["1-a-b.txt"] != "grüße" || binary["2-x"] != "/w==" || binary["3-folder.tar.gz"] == "" || len(data) != 3 ||
		len(binary) != 2 {
		t.Errorf("data %q, binaryData %q", data, binary)
	}
	if obj.GetName() != "kt-image-torch" || obj.GetLabels()["team"] != "ml" || obj.GetLabels()[ImageLabel] != "torch" {
		t.Errorf("metadata %v", obj.Object["metadata"])
	}
	if again, err := SpecOf(obj); err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("the spec is read as %+v, %v", again, err)
	}
}

func TestErrorListsTheLargestPartsOfASetupThatIsTooLarge(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 700<<10)
	_, err := configMap(t, Spec{Dockerfile: "COPY a b c /app/"}, map[Source][]Packed{
		{Path: "a"}: {PackFile("small.txt", []byte("x"), 0o644)},
		{Path: "b"}: {PackFile("big.txt", []byte(big), 0o644)},
		{Path: "c"}: {PackFile("half.txt", []byte(big[:512<<10]), 0o644)},
	})
	if err == nil || !strings.Contains(err.Error(), "1214 KiB, but a ConfigMap can contain only 1024 KiB. The "+
		"largest parts are:\n  - 2-big.txt: 700 KiB\n  - 3-half.txt: 512 KiB\n") {
		t.Errorf("got %v", err)
	}
	var steps []Step
	for range 3 {
		steps = append(steps, Step{RunBash: "true " + strings.Repeat("x", 100<<10)})
	}
	if _, err := configMap(t, Spec{Steps: steps}, nil); err == nil ||
		!strings.Contains(err.Error(), "move long scripts to files") {
		t.Errorf("long steps: %v", err)
	}
	if _, err := configMap(t, Spec{Dockerfile: "COPY a /app/"},
		map[Source][]Packed{{Path: "a"}: {PackFile("fits", []byte(strings.Repeat("x", 1<<20-4<<10)),
			0o644)}}); err != nil {
		t.Errorf("a setup of the maximum size: %v", err)
	}
}

func TestSummaryIsShortAndChangesWithTheContent(t *testing.T) {
	t.Parallel()
	packed := map[Source][]Packed{{Path: "f"}: {directory(t, "f", map[string]string{"a": "canary"}, nil)}}
	obj, err := configMap(t, Spec{Dockerfile: "RUN canary\nCOPY f /f"}, packed)
	if err != nil {
		t.Fatal(err)
	}
	short, err := Summary(obj).MarshalJSON()
	if err != nil || strings.Contains(string(short), "canary") || len(short) > 1200 {
		t.Errorf("%d bytes: %s %v", len(short), short, err)
	}
	if text, _, _ := unstructured.NestedString(Summary(obj).Object, "metadata", "labels", "team"); text != "ml" {
		t.Errorf("a label is summarized as %q", text)
	}
	for _, path := range [][]string{{"data", ScriptKey}, {"data", DockerfileKey}, {"binaryData", "1-f.tar.gz"},
		{"metadata", "annotations", SpecAnnotation}} {
		edited := obj.DeepCopy()
		text, _, _ := unstructured.NestedString(edited.Object, path...)
		if path[0] == "binaryData" {
			text = base64.StdEncoding.EncodeToString([]byte("edited"))
		}
		if err := unstructured.SetNestedField(edited.Object, text+"\n", path...); err != nil {
			t.Fatal(err)
		}
		if reflect.DeepEqual(Summary(edited), Summary(obj)) {
			t.Errorf("a change of %v does not change the summary", path)
		}
	}
}

func TestBasesResolveToKubetorchImages(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"debian": "ghcr.io/run-house/server:v3", "debian:v4": "ghcr.io/run-house/server:v4",
		"ubuntu": "ghcr.io/run-house/ubuntu:v1", "ubuntu:v2": "ghcr.io/run-house/ubuntu:v2",
		"python3.10": "python:3.10-slim", "python3.12.4": "python:3.12.4-slim", "python:3.11": "python:3.11-slim",
		"ray": "rayproject/ray:latest", "ray:2.40.0": "rayproject/ray:2.40.0",
		"pytorch": "nvcr.io/nvidia/pytorch:23.12-py3", "pytorch:24.08-py3": "nvcr.io/nvidia/pytorch:24.08-py3",
	} {
		if got, err := BaseImage(base); got != want || err != nil {
			t.Errorf("%s is %q (%v), want %q", base, got, err, want)
		}
	}
	for _, base := range []string{"", "python", "python3", "python3.12:x", "alpine", "ray:", "ray:a b", "Debian",
		"pythonic"} {
		if got, err := BaseImage(base); err == nil {
			t.Errorf("%q is accepted as %s", base, got)
		}
	}
}
