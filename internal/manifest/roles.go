package manifest

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	case corev1.SchemeGroupVersion.WithKind("Service"):
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
	for _, k := range kinds() {
		if !k.gvk.Empty() {
			all = append(all, k.gvk)
		}
	}
	return all
}

// NeedsManifest tells whether a compute is run in a mode only if it brings a
// manifest.
func NeedsManifest(mode string) bool {
	return !slices.ContainsFunc(kinds(), func(k kind) bool { return k.mode == mode && k.picks != nil })
}

// HasReplicas tells whether the number of pods of a compute can be asked for in
// a mode. In others, something else decides it: Knative, the nodes of the
// cluster, or the user's own manifest.
func HasReplicas(mode string) bool {
	return slices.ContainsFunc(kinds(), func(k kind) bool { return k.mode == mode && k.scales })
}

// Lasting are the paths of a workload's fields that the API server lets change,
// but whoever runs the workload does not. Changing one means replacing it.
func Lasting(gvk schema.GroupVersionKind) [][]string {
	k, _ := kindOfObject(gvk, nil)
	return k.lasting
}

// KeepsPods tells whether pods that run stay as they are although their template
// changes between before and after, two renderings of one workload.
func KeepsPods(before, after *unstructured.Unstructured) bool {
	k, _ := kindOfObject(after.GroupVersionKind(), nil)
	if k.keepsPods == nil || !k.keepsPods(after.Object) {
		return false
	}
	return slices.ContainsFunc(k.groups(after.Object), func(g group) bool {
		was, _ := find(before.Object, g.template)
		will, _ := find(after.Object, g.template)
		return was != nil && !reflect.DeepEqual(normalizeValue(was, ""), normalizeValue(will, ""))
	})
}

func always(map[string]any) bool { return true }

// LeftAfterCreation are the paths of a workload's fields that are rendered while
// [Compute.HeldByQueue] only: others change them afterwards, so that whoever
// applies the workload again must neither send nor own them, nor remove them.
func LeftAfterCreation(gvk schema.GroupVersionKind) [][]string {
	k, _ := kindOfObject(gvk, nil)
	var paths [][]string
	if k.admitted {
		for _, s := range k.suspension {
			paths = append(paths, s.path)
		}
	}
	return paths
}

// Queued tells whether a rendered workload is in a queue that releases it, and
// that adds to its pods when it does.
func Queued(workload *unstructured.Unstructured) bool {
	return workload.GetLabels()[KueueQueueLabel] != "" && len(LeftAfterCreation(workload.GroupVersionKind())) > 0
}

// Unserved are the paths of fields that are rendered because Kubetorch renders
// them, although no release of the kind's CRD has them. Server-side apply
// refuses an object with such a field, so they must not be sent.
func Unserved(gvk schema.GroupVersionKind) [][]string {
	if gvk == rayClusterKind().gvk {
		return [][]string{{"spec", "headServicePorts"}}
	}
	return nil
}
