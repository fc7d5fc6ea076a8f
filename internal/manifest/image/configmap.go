package image

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

const (
	// ImageLabel holds the name of a kt_image, on its ConfigMap.
	ImageLabel = "kubetorch.com/image"
	// SpecAnnotation holds the Spec as JSON, for imports.
	SpecAnnotation = "kubetorch.com/image-spec"

	// DigestAnnotation holds the digest of the set-up.
	DigestAnnotation = "kubetorch.com/image-setup-digest"

	// MostBytes is what Kubernetes lets all values of a ConfigMap have together.
	MostBytes = 1 << 20
	// mostAnnotations is what Kubernetes lets all annotations of an object have
	// together, in bytes, with room for those of others.
	mostAnnotations = 256<<10 - 16<<10
)

// ConfigMapName is the name of the ConfigMap of a kt_image.
func ConfigMapName(name string) string { return "kt-image-" + name }

// Meta is what a ConfigMap says besides its content.
type Meta struct {
	Name, Namespace     string // of the kt_image
	Username            string // "" for none
	Labels, Annotations map[string]string
}

// ConfigMap puts a set-up into its ConfigMap. What is too big for one is an
// error that says what is big.
func ConfigMap(m Meta, s Spec, r Rendered) (*unstructured.Unstructured, error) {
	data := map[string]any{DockerfileKey: r.Dockerfile, ScriptKey: r.Script}
	binary := map[string]any{}
	sizes := map[string]int{DockerfileKey: len(r.Dockerfile), ScriptKey: len(r.Script)}
	for key, file := range r.Files {
		if file.isText() {
			data[key] = string(file.Data)
		} else {
			binary[key] = base64.StdEncoding.EncodeToString(file.Data)
		}
		sizes[key] = len(file.Data)
	}
	if err := checkSize(sizes); err != nil {
		return nil, err
	}
	spec, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if len(spec) > mostAnnotations {
		return nil, fmt.Errorf("dockerfile and steps have %s together, and an annotation of the ConfigMap has to hold them, with %s at most: put long scripts into files, and copy and run these", bytesText(len(spec)), bytesText(mostAnnotations))
	}
	labels := anyMap(m.Labels)
	labels[manifest.AppLabel], labels[manifest.ManagedByLabel], labels[ImageLabel] = "kubetorch", manifest.ManagedByValue, m.Name
	if m.Username != "" {
		labels[manifest.UsernameLabel] = m.Username
	}
	annotations := anyMap(m.Annotations)
	annotations[SpecAnnotation], annotations[DigestAnnotation] = string(spec), r.Digest
	content := map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": map[string]any{
			"name": ConfigMapName(m.Name), "namespace": m.Namespace, "labels": labels, "annotations": annotations,
		},
		"data": data,
	}
	if len(binary) > 0 {
		content["binaryData"] = binary
	}
	return &unstructured.Unstructured{Object: content}, nil
}

func anyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for key, value := range m {
		out[key] = value
	}
	return out
}

func checkSize(sizes map[string]int) error {
	total := 0
	for _, size := range sizes {
		total += size
	}
	if total <= MostBytes {
		return nil
	}
	return fmt.Errorf("the set-up has %s in all, and a ConfigMap holds %s. The biggest parts of it:\n%s\n\n"+
		"Put what is big into the image itself or onto a kt_volume, or download it in a step", bytesText(total), bytesText(MostBytes), biggest(sizes))
}

// biggest lists the few biggest of things by their size in bytes.
func biggest(sizes map[string]int) string {
	keys := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b))
	})
	var lines []string
	for _, key := range keys[:min(5, len(keys))] {
		lines = append(lines, fmt.Sprintf("  - %s: %s", key, bytesText(sizes[key])))
	}
	return strings.Join(lines, "\n")
}

func bytesText(n int) string {
	if n < 10<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KiB", (n+1<<10-1)>>10)
}

// Summary is an object with digests in the place of its contents and of its
// spec: short enough for plans and state, and different whenever they are.
func Summary(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := obj.DeepCopy()
	replace := func(digest func(string) string, path ...string) {
		values, found, err := unstructured.NestedMap(out.Object, path...)
		if !found || err != nil {
			return
		}
		for key, value := range values {
			text, ok := value.(string)
			if isContent := path[0] != "metadata" || key == SpecAnnotation; ok && isContent {
				values[key] = digest(text)
			}
		}
		_ = unstructured.SetNestedMap(out.Object, values, path...) // it was found there
	}
	replace(func(text string) string { return contentDigest([]byte(text)) }, "data")
	replace(func(text string) string {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			data = []byte(text)
		}
		return contentDigest(data)
	}, "binaryData")
	replace(func(text string) string { return contentDigest([]byte(text)) }, "metadata", "annotations")
	return out
}

// SpecOf reads the spec that a ConfigMap of ours was made by.
func SpecOf(obj *unstructured.Unstructured) (Spec, error) {
	var s Spec
	text, ok := obj.GetAnnotations()[SpecAnnotation]
	if !ok {
		return s, fmt.Errorf("it has no annotation %s", SpecAnnotation)
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("its annotation %s cannot be read: %w", SpecAnnotation, err)
	}
	return s, nil
}
