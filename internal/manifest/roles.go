package manifest

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Role is the purpose of an object of a compute.
type Role string

// The roles of the objects that Render returns.
const (
	RoleWorkload         Role = "workload"         // runs the pods
	RoleService          Role = "service"          // makes them reachable
	RoleDisruptionBudget Role = "disruptionbudget" // limits their eviction
	RoleAutoscaler       Role = "autoscaler"       // sets their number
	RoleExpose           Role = "expose"           // makes them reachable from outside
	RoleRegistration     Role = "registration"     // makes the compute known to Python clients
)

// RoleOf returns the role of a rendered object. An object of any other kind is a
// workload.
func RoleOf(gvk schema.GroupVersionKind) Role {
	switch gvk {
	case kind.Service().GroupVersionKind:
		return RoleService
	case kind.PodDisruptionBudget().GroupVersionKind:
		return RoleDisruptionBudget
	case kind.HorizontalPodAutoscaler().GroupVersionKind, kind.ScaledObject().GroupVersionKind:
		return RoleAutoscaler
	case kind.Ingress().GroupVersionKind, kind.HTTPRoute().GroupVersionKind, kind.GRPCRoute().GroupVersionKind:
		return RoleExpose
	case kind.KubetorchWorkload().GroupVersionKind:
		return RoleRegistration
	default:
		return RoleWorkload
	}
}

// KeepsPods reports whether running pods are kept although their template differs
// between before and after, two renderings of one workload.
func KeepsPods(before, after *unstructured.Unstructured) bool {
	k, _ := kindOfObject(after.GroupVersionKind(), nil)
	if k.KeepsPods == nil || !k.KeepsPods(after.Object) {
		return false
	}
	old, current := Normalize(before), Normalize(after)
	groups := k.Groups(old)
	return slices.ContainsFunc(k.Groups(current), func(g kind.Group) bool {
		i := slices.IndexFunc(groups, g.Is)
		if i < 0 {
			return false
		}
		was, _ := kind.Find(old, groups[i].Template)
		will, _ := kind.Find(current, g.Template)
		return was != nil && !reflect.DeepEqual(was, will)
	})
}

// Requeues reports whether Kueue stops the running pods of a workload after an update, and admits it again: its
// containers or numbers of pods are no longer those that Kueue has admitted (ensureOneWorkload in
// pkg/controller/jobframework/reconciler.go, and ComparePodSets in pkg/util/equality/podset.go of Kueue 0.19).
func Requeues(before, after *unstructured.Unstructured) bool {
	return Queued(after) && !reflect.DeepEqual(podSets(before), podSets(after))
}

// podSets returns what Kueue compares of the groups of pods of a workload.
func podSets(workload *unstructured.Unstructured) []any {
	var sets []any
	object := Normalize(workload)
	for _, g := range kind.WorkloadOf(workload.GroupVersionKind().GroupKind()).Groups(object) {
		spec := kind.FieldsAt(object, kind.Under(g.Template, "spec")...)
		sets = append(sets, spec["containers"], spec["initContainers"])
		if workload.GetAnnotations()[kind.KueueElasticAnnotation] != "true" {
			sets = append(sets, g.Count(object))
		}
	}
	return sets
}

// KeptGroups returns the groups that an update removes or renames, and whose pods keep running.
func KeptGroups(before, after *unstructured.Unstructured) []kind.Group {
	k, _ := kindOfObject(after.GroupVersionKind(), nil)
	if k.KeepsPods == nil || !k.KeepsPods(after.Object) { // the controller recreates all pods
		return nil
	}
	groups := k.Groups(after.Object)
	return slices.DeleteFunc(slices.Clone(k.Groups(before.Object)), func(g kind.Group) bool {
		return g.Name == "" || slices.ContainsFunc(groups, g.Is)
	})
}

// HasImmutablePods reports whether a change of a pod template replaces a workload. That of a kind that can be restarted
// does not, although the API server names all of spec in the error about another field of a StatefulSet.
func HasImmutablePods(workload *unstructured.Unstructured) bool {
	k, _ := kindOfObject(workload.GroupVersionKind(), nil)
	fixed := slices.Concat(k.Immutable, kind.Each(k.CreationOnly, dotted))
	return k.Restart == nil && slices.ContainsFunc(k.Groups(workload.Object), func(g kind.Group) bool {
		spec := dotted(kind.Under(g.Template, "spec")) + "."
		return slices.ContainsFunc(fixed, func(field string) bool { return strings.HasPrefix(spec, field+".") })
	})
}

// LeftAfterCreation returns the paths of the fields of a workload that are rendered
// only with [Compute.HeldByQueue]. Kueue changes them afterwards, so later requests
// must neither send, own nor remove them.
func LeftAfterCreation(gvk schema.GroupVersionKind) [][]string {
	if k := kind.WorkloadOf(gvk.GroupKind()); k.Admitted {
		return kind.Each(k.Suspension, func(s kind.Setting) []string { return s.Path })
	}
	return nil
}

// Queued reports whether Kueue resumes a rendered workload, and then adds fields
// to its pods.
func Queued(workload *unstructured.Unstructured) bool {
	return QueueOf(workload.Object, kind.WorkloadOf(workload.GroupVersionKind().GroupKind())) != ""
}
