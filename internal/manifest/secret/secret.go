package secret

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// The labels and annotations that Kubetorch reads.
const (
	MountTypeLabel = kind.KubetorchGroup + "/mount-type"
	NameLabel      = kind.KubetorchGroup + "/secret-name"
	ProviderLabel  = kind.KubetorchGroup + "/provider"

	PathAnnotation      = kind.KubetorchGroup + "/secret-path"
	FilenamesAnnotation = kind.KubetorchGroup + "/secret-filenames" // a JSON list
	OverrideAnnotation  = kind.KubetorchGroup + "/override"         // true or false
	// DefaultModeAnnotation is the provider's own: an import finds there what pods mount the keys with.
	DefaultModeAnnotation = kind.KubetorchGroup + "/secret-default-mode"
)

// Values of MountTypeLabel.
const (
	EnvMount    = "env"
	VolumeMount = "volume"
)

// Secret is everything about one Secret but its values.
type Secret struct {
	Name, Namespace string
	Username        string // a label value; empty: no label
	Provider        string // empty: no label
	Adopt           bool

	// Folder is where the keys are mounted as files, as Folder writes it; ""
	// where they become environment variables.
	Folder string
	// Filenames are the keys that are mounted.
	Filenames []string
	// DefaultMode are the permission bits of the mounted files: "0400"; "" for Kubernetes' own default.
	DefaultMode string

	// Of the provider's configuration. They lose against Labels and Annotations.
	DefaultLabels, DefaultAnnotations map[string]string
	Labels, Annotations               map[string]string
}

// Object is the Secret without its values.
func (s Secret) Object() (*unstructured.Unstructured, error) {
	annotations := map[string]string{OverrideAnnotation: strconv.FormatBool(s.Adopt)}
	labels := map[string]string{
		NameLabel: s.Name, MountTypeLabel: EnvMount, kind.ManagedByLabel: kind.ManagedByValue,
	}
	if s.Username != "" {
		labels[kind.UsernameLabel] = s.Username
	}
	if s.Provider != "" {
		labels[ProviderLabel] = s.Provider
	}
	if s.Folder != "" {
		labels[MountTypeLabel] = VolumeMount
		annotations[PathAnnotation] = s.Folder
		names, err := json.Marshal(s.Filenames)
		if err != nil {
			return nil, err
		}
		annotations[FilenamesAnnotation] = string(names)
		if s.DefaultMode != "" {
			annotations[DefaultModeAnnotation] = s.DefaultMode
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "Secret",
		"type":       "Opaque",
		"metadata": map[string]any{
			"name":        s.Name,
			"namespace":   s.Namespace,
			"labels":      union(s.DefaultLabels, s.Labels, labels),
			"annotations": union(s.DefaultAnnotations, s.Annotations, annotations),
		},
	}}, nil
}

// Own says whether a label or annotation is one that Object sets by itself.
func Own(key string) bool {
	switch key {
	case NameLabel, MountTypeLabel, ProviderLabel, kind.ManagedByLabel, kind.UsernameLabel,
		PathAnnotation, FilenamesAnnotation, OverrideAnnotation, DefaultModeAnnotation:
		return true
	}
	return false
}

// WithData is a copy of the object with these values.
func WithData(obj *unstructured.Unstructured, data map[string][]byte) *unstructured.Unstructured {
	out := obj.DeepCopy()
	encoded := make(map[string]any, len(data))
	for key, value := range data {
		encoded[key] = base64.StdEncoding.EncodeToString(value)
	}
	out.Object["data"] = encoded
	return out
}

// WithoutData is a copy of the object without any value.
func WithoutData(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: make(map[string]any, len(obj.Object))}
	for field, value := range obj.Object {
		if field != "data" && field != "stringData" {
			out.Object[field] = value
		}
	}
	return out.DeepCopy()
}

// union is a new map with the entries of all; the later ones win.
func union(all ...map[string]string) map[string]any {
	out := map[string]any{}
	for _, one := range all {
		for key, value := range one {
			out[key] = value
		}
	}
	return out
}
