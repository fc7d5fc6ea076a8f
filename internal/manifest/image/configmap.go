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

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

const (
	// ImageLabel is the label of a ConfigMap with the name of its kt_image.
	ImageLabel = kind.KubetorchGroup + "/image"
	// SpecAnnotation is the annotation with the Spec as JSON, for imports.
	SpecAnnotation = kind.KubetorchGroup + "/image-spec"

	// DigestAnnotation is the annotation with the digest of the setup.
	DigestAnnotation = kind.KubetorchGroup + "/image-setup-digest"

	// MostBytes is the maximum total size of the values of a ConfigMap in Kubernetes.
	MostBytes = 1 << 20
	// mostAnnotations is the maximum total size of the annotations of an object in
	// Kubernetes, in bytes, minus a reserve for annotations of other clients.
	mostAnnotations = 256<<10 - 16<<10
)

// ConfigMapName returns the name of the ConfigMap of a kt_image.
func ConfigMapName(name string) string { return "kt-image-" + name }

// Meta is the metadata of a ConfigMap.
type Meta struct {
	Name, Namespace string // of the kt_image
	Username        string // "" for none
	// From the configuration of the provider. Labels and Annotations override them.
	DefaultLabels, DefaultAnnotations map[string]string
	Labels, Annotations               map[string]string
}

// ConfigMap returns the ConfigMap of a setup. If the setup is too large, the
// error lists its largest parts.
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
	spec, _ := json.Marshal(s) // it contains only texts
	if len(spec) > mostAnnotations {
		return nil, fmt.Errorf("the total size of dockerfile and steps is %s, but an annotation of the ConfigMap can "+
			"contain only %s: move long scripts to files, and copy and run these", bytesText(len(spec)),
			bytesText(mostAnnotations))
	}
	labels := map[string]string{
		kind.AppLabel: kind.KubetorchApp, kind.ManagedByLabel: kind.ManagedByValue, ImageLabel: m.Name,
	}
	if m.Username != "" {
		labels[kind.UsernameLabel] = m.Username
	}
	annotations := map[string]string{SpecAnnotation: string(spec), DigestAnnotation: r.Digest}
	object := kind.ConfigMap().Named(m.Namespace, ConfigMapName(m.Name))
	object.Object["data"] = data
	kind.SetAt(object.Object, []string{"metadata", "labels"}, kind.Texts(m.DefaultLabels, m.Labels, labels))
	kind.SetAt(object.Object, []string{"metadata", "annotations"},
		kind.Texts(m.DefaultAnnotations, m.Annotations, annotations))
	if len(binary) > 0 {
		object.Object["binaryData"] = binary
	}
	return object, nil
}

// IsReservedLabel reports whether ConfigMap sets a label.
func IsReservedLabel(key string) bool {
	return slices.Contains([]string{kind.AppLabel, kind.ManagedByLabel, kind.UsernameLabel, ImageLabel}, key)
}

// IsReservedAnnotation reports whether ConfigMap sets an annotation.
func IsReservedAnnotation(key string) bool { return key == SpecAnnotation || key == DigestAnnotation }

func checkSize(sizes map[string]int) error {
	total := 0
	for _, size := range sizes {
		total += size
	}
	if total <= MostBytes {
		return nil
	}
	return fmt.Errorf("the total size of the setup is %s, but a ConfigMap can contain only %s. The largest parts "+
		"are:\n%s\n\n"+
		"Next step: Move large files to the image or to a kt_volume, or download them in a step", bytesText(total),
		bytesText(MostBytes), biggest(sizes))
}

// biggest lists the largest items by their size in bytes.
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

// Summary returns an object in which digests replace the contents and the spec.
// It is short enough for plans and state, and differs whenever these differ.
func Summary(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := obj.DeepCopy()
	for key, text := range kind.TextsAt(obj.Object, "data") {
		kind.SetAt(out.Object, []string{"data", key}, contentDigest([]byte(text)))
	}
	for key, text := range kind.TextsAt(obj.Object, "binaryData") {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			data = []byte(text)
		}
		kind.SetAt(out.Object, []string{"binaryData", key}, contentDigest(data))
	}
	if spec, ok := kind.TextsAt(obj.Object, "metadata", "annotations")[SpecAnnotation]; ok {
		kind.SetAt(out.Object, []string{"metadata", "annotations", SpecAnnotation}, contentDigest([]byte(spec)))
	}
	return out
}

// SpecOf reads the spec from a ConfigMap that the provider created.
func SpecOf(obj *unstructured.Unstructured) (Spec, error) {
	var s Spec
	text, ok := obj.GetAnnotations()[SpecAnnotation]
	if !ok {
		return s, fmt.Errorf("the annotation %s is missing", SpecAnnotation)
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("the annotation %s is invalid: %w", SpecAnnotation, err)
	}
	return s, nil
}
