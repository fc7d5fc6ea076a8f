// Package claim renders a volume as a PersistentVolumeClaim, and selects its StorageClass.
//
// It is pure: it reads nothing from a cluster, a file or the environment.
package claim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Labels and annotations of the claims of Kubetorch's volumes.
const (
	VolumeLabel         = kind.KubetorchGroup + "/volume"
	MountPathAnnotation = kind.KubetorchGroup + "/mount-path"
)

// DefaultAccessMode allows the pods of all nodes to write, like Kubetorch's volumes.
const DefaultAccessMode = "ReadWriteMany"

// AccessModes returns the access modes of Kubernetes
// (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes).
func AccessModes() []string {
	return []string{"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"}
}

// Claim is the input for the object of one kt_volume. A zero field is an attribute that is not set.
type Claim struct {
	Name, Namespace string

	Size         resource.Quantity // requested; the volume may be larger
	AccessMode   string            // one of AccessModes
	StorageClass *string           // "" is no class; nil lets Kubernetes select one
	VolumeName   string            // the PersistentVolume to bind
	MountPath    string            // absolute path in computes

	Labels, Annotations map[string]string
	// From the configuration of the provider. Labels and Annotations override them.
	DefaultLabels, DefaultAnnotations map[string]string
}

// Render returns the PersistentVolumeClaim, normalized. The error has the type [manifest.Errors]: every problem with
// its attribute.
func Render(c Claim) (*unstructured.Unstructured, error) {
	if errs := Validate(c); len(errs) > 0 {
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
	annotations := kind.Texts(c.DefaultAnnotations, c.Annotations, reservedAnnotations(c))
	if c.MountPath == "" {
		delete(annotations, MountPathAnnotation)
	}
	labels := kind.Texts(map[string]string{kind.AppLabel: kind.KubetorchApp}, c.DefaultLabels, c.Labels,
		reservedLabels(c))
	return manifest.NewObject(kind.PersistentVolumeClaim(), c.Namespace, c.Name, labels, annotations, spec), nil
}

// reservedLabels returns the labels that a configuration cannot set to another value.
func reservedLabels(c Claim) map[string]string {
	return map[string]string{VolumeLabel: c.Name, kind.ManagedByLabel: kind.ManagedByValue}
}

// reservedAnnotations returns the annotations that a configuration cannot set to another value. An empty one must
// not exist.
func reservedAnnotations(c Claim) map[string]string {
	return map[string]string{MountPathAnnotation: c.MountPath}
}

// Validate rejects labels and annotations that differ from reserved ones.
func Validate(c Claim) manifest.Errors {
	var errs manifest.Errors
	reasonFor := func(key string) (string, []manifest.Path) {
		return map[string]string{
			VolumeLabel:         "it contains the name of the volume",
			kind.ManagedByLabel: "the provider finds its objects with it",
			MountPathAnnotation: "it is set from mount_path",
		}[key], nil
	}
	errs.RejectOthers("labels", c.DefaultLabels, c.Labels, reservedLabels(c), reasonFor)
	errs.RejectOthers("annotations", c.DefaultAnnotations, c.Annotations, reservedAnnotations(c), reasonFor)
	return errs
}

// Observe returns the attributes of a volume for a claim, without the labels and annotations that Render adds.
func Observe(o *unstructured.Unstructured) Claim {
	c := Claim{Name: o.GetName(), Namespace: o.GetNamespace(), MountPath: o.GetAnnotations()[MountPathAnnotation]}
	if spec := manifest.SpecOf[corev1.PersistentVolumeClaimSpec](o.Object); spec != nil {
		c.VolumeName, c.StorageClass = spec.VolumeName, spec.StorageClassName
		c.Size = spec.Resources.Requests[corev1.ResourceStorage]
		if len(spec.AccessModes) > 0 {
			c.AccessMode = string(spec.AccessModes[0])
		}
	}
	c.Labels = manifest.Without(o.GetLabels(), map[string]string{
		kind.AppLabel: kind.KubetorchApp, VolumeLabel: c.Name, kind.ManagedByLabel: kind.ManagedByValue,
	})
	c.Annotations = manifest.Without(o.GetAnnotations(), reservedAnnotations(c))
	return c
}

// CanBecome reports whether a claim can be changed to a wanted one, because no immutable field differs. In the spec
// of a claim that is not bound, only a missing class can be set.
func CanBecome(live, wanted *unstructured.Unstructured) bool {
	was, will := Observe(live), Observe(wanted)
	sameClass := was.StorageClass == nil || will.StorageClass == nil || *was.StorageClass == *will.StorageClass
	return sameClass && was.AccessMode == will.AccessMode && was.Size.Cmp(will.Size) == 0 &&
		(will.VolumeName == "" || was.VolumeName == will.VolumeName)
}

// Bound reports whether a claim has, or had, a volume, which may contain data. A claim with the name of a
// PersistentVolume may not be bound to it.
func Bound(live *unstructured.Unstructured) bool {
	phase := kind.TextAt(live.Object, "status", "phase")
	_, completed := live.GetAnnotations()[kind.BindCompletedAnnotation] // written before the phase
	return completed || phase == "Bound" || phase == "Lost"
}

// Resize is the effect of another size on a claim.
type Resize int

// Effects of another size.
const (
	Same    Resize = iota
	Grow           // requires a class that allows it
	Lower          // requests less, but more than the capacity, to cancel a failed growth
	Shrink         // Kubernetes never does this
	Unbound        // has no volume yet, and Kubernetes can only change the size of bound claims
)

// Compare returns the effect of requesting wanted for a claim that requests another size and has a volume of a
// capacity, or nil. It follows ValidatePersistentVolumeClaimUpdate of Kubernetes (pkg/apis/core/validation).
func Compare(wanted, requested resource.Quantity, capacity *resource.Quantity) Resize {
	order := wanted.Cmp(requested)
	switch {
	case order == 0:
		return Same
	case capacity == nil:
		return Unbound
	case order > 0:
		return Grow
	case wanted.Cmp(*capacity) > 0:
		return Lower
	default:
		return Shrink
	}
}
