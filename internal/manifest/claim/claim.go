// Package claim renders a volume into the PersistentVolumeClaim that asks for
// it, and chooses the StorageClass that provides it.
//
// It is pure: nothing is read from a cluster, a file or the environment.
package claim

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// What Kubetorch puts on the claims of its volumes.
const (
	AppValue            = "kubetorch" // of the label app
	VolumeLabel         = kind.KubetorchGroup + "/volume"
	MountPathAnnotation = kind.KubetorchGroup + "/mount-path"
)

// DefaultAccessMode lets the pods of all nodes write, as Kubetorch's volumes do.
const DefaultAccessMode = "ReadWriteMany"

// AccessModes are those of Kubernetes
// (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes).
func AccessModes() []string {
	return []string{"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"}
}

// Claim is everything that decides the object of one kt_volume. A zero field is
// an attribute that is not set.
type Claim struct {
	Name, Namespace string

	Size         resource.Quantity // what is asked for; the volume may be larger
	AccessMode   string            // one of AccessModes
	StorageClass *string           // "" is none at all; nil leaves it to Kubernetes
	VolumeName   string            // the PersistentVolume to bind
	MountPath    string            // where computes mount it, an absolute path

	Labels, Annotations map[string]string
	// Of the provider. They go where Labels and Annotations go, and lose
	// against them.
	DefaultLabels, DefaultAnnotations map[string]string
}

// Render returns the PersistentVolumeClaim, normalized. The error is of type
// [manifest.Errors]: all that is wrong, each part with its attribute.
func Render(c Claim) (*unstructured.Unstructured, error) {
	if errs := conflicts(c); len(errs) > 0 {
		return nil, errs
	}
	spec := map[string]any{
		"accessModes": []any{c.AccessMode},
		"resources":   map[string]any{"requests": map[string]any{"storage": c.Size.String()}},
	}
	if c.VolumeName != "" {
		spec["volumeName"] = c.VolumeName
	}
	if c.StorageClass != nil {
		spec["storageClassName"] = *c.StorageClass
	}
	annotations := anyMap(c.DefaultAnnotations, c.Annotations, fixedAnnotations(c))
	if c.MountPath == "" {
		delete(annotations, MountPathAnnotation)
	}
	rendered := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim",
		"metadata": map[string]any{
			"name": c.Name, "namespace": c.Namespace,
			"labels":      anyMap(map[string]string{kind.AppLabel: AppValue}, c.DefaultLabels, c.Labels, fixedLabels(c)),
			"annotations": annotations,
		},
		"spec": spec,
	}}
	return &unstructured.Unstructured{Object: manifest.Normalize(rendered)}, nil
}

// fixedLabels are those that nobody may set to something else.
func fixedLabels(c Claim) map[string]string {
	return map[string]string{VolumeLabel: c.Name, kind.ManagedByLabel: kind.ManagedByValue}
}

// fixedAnnotations are likewise; an empty one is not to be there.
func fixedAnnotations(c Claim) map[string]string {
	return map[string]string{MountPathAnnotation: c.MountPath}
}

// conflicts refuses labels and annotations that say otherwise than ours. One
// that says the same is no conflict.
func conflicts(c Claim) manifest.Errors {
	var errs manifest.Errors
	instead := map[string]string{
		VolumeLabel:         "it names the volume",
		kind.ManagedByLabel: "the provider finds its objects by it",
		MountPathAnnotation: "it follows mount_path; set that",
	}
	check := func(attribute, where string, given, ours map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(given)) {
			if want, ok := ours[key]; ok && given[key] != want {
				errs = append(errs, &manifest.AttributeError{Path: manifest.At(attribute), Detail: fmt.Sprintf("%s sets %s to %q, but it must be %q here: %s. Remove it.",
					where, key, given[key], want, instead[key])})
			}
		}
	}
	check("labels", "the provider's default_labels", c.DefaultLabels, fixedLabels(c))
	check("labels", "labels", c.Labels, fixedLabels(c))
	check("annotations", "the provider's default_annotations", c.DefaultAnnotations, fixedAnnotations(c))
	check("annotations", "annotations", c.Annotations, fixedAnnotations(c))
	return errs
}

// Observe reads the attributes of a volume out of a claim. What only Render
// adds to labels and annotations is left out.
func Observe(o *unstructured.Unstructured) Claim {
	c := Claim{Name: o.GetName(), Namespace: o.GetNamespace()}
	if text, ok, _ := unstructured.NestedString(o.Object, "spec", "resources", "requests", "storage"); ok {
		if size, err := resource.ParseQuantity(text); err == nil {
			c.Size = size
		}
	}
	if modes, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "accessModes"); len(modes) > 0 {
		c.AccessMode = modes[0]
	}
	if class, ok, _ := unstructured.NestedString(o.Object, "spec", "storageClassName"); ok {
		c.StorageClass = &class
	}
	c.VolumeName, _, _ = unstructured.NestedString(o.Object, "spec", "volumeName")
	c.MountPath = o.GetAnnotations()[MountPathAnnotation]
	c.Labels = without(o.GetLabels(), map[string]string{
		kind.AppLabel: AppValue, VolumeLabel: c.Name, kind.ManagedByLabel: kind.ManagedByValue,
	})
	c.Annotations = without(o.GetAnnotations(), map[string]string{MountPathAnnotation: c.MountPath})
	return c
}

// without leaves out the entries of m that added holds too.
func without(m, added map[string]string) map[string]string {
	rest := maps.Clone(m)
	maps.DeleteFunc(rest, func(key, value string) bool {
		ours, ok := added[key]
		return ok && ours == value
	})
	return rest
}

// anyMap has the entries of all; the later ones win.
func anyMap(all ...map[string]string) map[string]any {
	out := map[string]any{}
	for _, m := range all {
		for key, value := range m {
			out[key] = value
		}
	}
	return out
}

// CanBecome says whether a claim differs from a wanted one in nothing that
// Kubernetes never lets change. One that is not bound may change nothing of its
// spec, but that it may be given the class that it has none of.
func CanBecome(live, wanted *unstructured.Unstructured) bool {
	was, will := Observe(live), Observe(wanted)
	sameClass := was.StorageClass == nil || will.StorageClass == nil || *was.StorageClass == *will.StorageClass
	return sameClass && was.AccessMode == will.AccessMode && was.Size.Cmp(will.Size) == 0 &&
		(will.VolumeName == "" || was.VolumeName == will.VolumeName)
}

// Bound says whether a claim has, or had, a volume, in which there may be data. A
// claim that names a PersistentVolume need not have got it.
func Bound(live *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(live.Object, "status", "phase")
	_, completed := live.GetAnnotations()["pv.kubernetes.io/bind-completed"] // written before the phase
	return completed || phase == "Bound" || phase == "Lost"
}
