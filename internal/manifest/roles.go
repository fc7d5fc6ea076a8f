package manifest

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Role is what an object of a compute is for.
type Role string

// The roles of the objects that Render returns.
const (
	RoleWorkload     Role = "workload"     // runs the pods
	RoleService      Role = "service"      // reaches them
	RoleRegistration Role = "registration" // lets Python users find them
)

// RoleOf is the role of a rendered object by its kind. What is of no known kind
// is a workload that the user brought.
func RoleOf(gvk schema.GroupVersionKind) Role {
	switch gvk {
	case kind.Service().GroupVersionKind:
		return RoleService
	case RegistrationKind():
		return RoleRegistration
	default:
		return RoleWorkload
	}
}

// Workloads are all kinds of workload that the provider knows, those that
// need no manifest first.
func Workloads() []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for _, k := range kind.Workloads() {
		all = append(all, k.GroupVersionKind)
	}
	return all
}

// NeedsManifest reports whether a compute is run in a mode only if it brings a
// manifest.
func NeedsManifest(mode string) bool {
	return kind.OfMode(mode).Picks == nil
}

// HasReplicas reports whether the number of pods of a compute can be asked for in
// a mode. In others, something else decides it: Knative, the nodes of the
// cluster, or the user's own manifest.
func HasReplicas(mode string) bool {
	return kind.OfMode(mode).Scales
}

// Lasting are the paths of a workload's fields that the API server lets change,
// but whoever runs the workload does not. Changing one means replacing it.
func Lasting(gvk schema.GroupVersionKind) [][]string {
	k, _ := kindOfObject(gvk, nil)
	return k.Lasting
}

// KeepsPods reports whether pods that run stay as they are although their template
// changes between before and after, two renderings of one workload.
func KeepsPods(before, after *unstructured.Unstructured) bool {
	k, _ := kindOfObject(after.GroupVersionKind(), nil)
	if k.KeepsPods == nil || !k.KeepsPods(after.Object) {
		return false
	}
	return slices.ContainsFunc(k.Groups(after.Object), func(g kind.Group) bool {
		was, _ := kind.Find(before.Object, g.Template)
		will, _ := kind.Find(after.Object, g.Template)
		return was != nil && !reflect.DeepEqual(normalizeValue(was, ""), normalizeValue(will, ""))
	})
}

// LeftAfterCreation are the paths of a workload's fields that are rendered while
// [Compute.HeldByQueue] only: others change them afterwards, so that whoever
// applies the workload again must neither send nor own them, nor remove them.
func LeftAfterCreation(gvk schema.GroupVersionKind) [][]string {
	k, _ := kindOfObject(gvk, nil)
	var paths [][]string
	if k.Admitted {
		for _, s := range k.Suspension {
			paths = append(paths, s.Path)
		}
	}
	return paths
}

// Queued reports whether a rendered workload is in a queue that releases it, and
// that adds to its pods when it does.
func Queued(workload *unstructured.Unstructured) bool {
	return workload.GetLabels()[kind.KueueQueueLabel] != "" && len(LeftAfterCreation(workload.GroupVersionKind())) > 0
}

// Unserved are the paths of fields that are rendered although no release of the
// kind's CRD has them; see [kind.Workload].
func Unserved(gvk schema.GroupVersionKind) [][]string {
	k, _ := kindOfObject(gvk, nil)
	return k.Unserved
}
