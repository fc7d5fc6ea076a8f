package secret

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Labels and annotations that Kubetorch reads.
const (
	MountTypeLabel = kind.KubetorchGroup + "/mount-type"
	NameLabel      = kind.KubetorchGroup + "/secret-name"
	ProviderLabel  = kind.KubetorchGroup + "/provider"

	PathAnnotation      = kind.KubetorchGroup + "/secret-path"
	FilenamesAnnotation = kind.KubetorchGroup + "/secret-filenames" // a JSON list
	OverrideAnnotation  = kind.KubetorchGroup + "/override"         // true or false
	// DefaultModeAnnotation is used only by this provider: an import reads the mode of the mounted files from it.
	DefaultModeAnnotation = kind.KubetorchGroup + "/secret-default-mode"
)

// Values of MountTypeLabel.
const (
	EnvMount    = "env"
	VolumeMount = "volume"
)

// Secret describes one Secret without its values.
type Secret struct {
	Name, Namespace string
	Username        string // a label value; empty: no label
	Provider        string // empty: no label
	Adopt           bool

	// SourceDir is the directory where the keys are mounted as files, as returned by the function SourceDir. It is
	// "" if they become environment variables.
	SourceDir string
	// Filenames are the keys that are mounted.
	Filenames []string
	// DefaultMode contains the permission bits of the mounted files: "0400"; "" for the default of Kubernetes.
	DefaultMode string

	// From the configuration of the provider. Labels and Annotations override them.
	DefaultLabels, DefaultAnnotations map[string]string
	Labels, Annotations               map[string]string
}

// Object returns the Secret without its values.
func (s Secret) Object() *unstructured.Unstructured {
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
	if s.SourceDir != "" {
		labels[MountTypeLabel] = VolumeMount
		annotations[PathAnnotation] = s.SourceDir
		names, _ := json.Marshal(s.Filenames) // a list of strings
		annotations[FilenamesAnnotation] = string(names)
		if s.DefaultMode != "" {
			annotations[DefaultModeAnnotation] = s.DefaultMode
		}
	}
	object := kind.Secret().Named(s.Namespace, s.Name)
	object.Object["type"] = string(corev1.SecretTypeOpaque)
	kind.SetAt(object.Object, []string{"metadata", "labels"}, kind.Texts(s.DefaultLabels, s.Labels, labels))
	kind.SetAt(object.Object, []string{"metadata", "annotations"},
		kind.Texts(s.DefaultAnnotations, s.Annotations, annotations))
	return object
}

// IsReservedLabel reports whether Object sets a label.
func IsReservedLabel(key string) bool {
	reserved := []string{NameLabel, MountTypeLabel, ProviderLabel, kind.ManagedByLabel, kind.UsernameLabel}
	return slices.Contains(reserved, key)
}

// IsReservedAnnotation reports whether Object sets an annotation.
func IsReservedAnnotation(key string) bool {
	reserved := []string{PathAnnotation, FilenamesAnnotation, OverrideAnnotation, DefaultModeAnnotation}
	return slices.Contains(reserved, key)
}

// WithData returns a copy of the object with the values.
func WithData(obj *unstructured.Unstructured, data map[string][]byte) *unstructured.Unstructured {
	return withData(obj.DeepCopy(), data, base64.StdEncoding.EncodeToString)
}

// withData sets the data of an object, and returns it.
func withData(
	obj *unstructured.Unstructured, data map[string][]byte, encode func([]byte) string,
) *unstructured.Unstructured {
	obj.Object["data"] = kind.EachValue(data, func(value []byte) any { return encode(value) })
	return obj
}

// WithoutData returns a copy of the object without values.
func WithoutData(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := obj.DeepCopy()
	delete(out.Object, "data")
	delete(out.Object, "stringData")
	return out
}
