package kind

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// table contains all kinds of workloads. A compute without a manifest uses the
// first row that picks it, so the specific rows come first.
//
//nolint:gochecknoglobals // built once because each lookup uses it; never modified
var table = []Kind{
	skyTorchCompute(),
	kpuCompute(),
	selector(),
	knativeService(),
	rayCluster(),
	rayJob(),
	job(),
	Deployment(),
	statefulSet(),
	daemonSet(),
	replicaSet(),
	pod(),
	cronJob(),
	jobSet(),
	leaderWorkerSet(),
	pyTorchJob(),
	tfJob(),
	mxJob(),
	xgBoostJob(),
}

// others contains the kinds without pods that the provider writes.
//
//nolint:gochecknoglobals // as table
var others = []Kind{
	KubetorchWorkload(), Service(), PodDisruptionBudget(), HorizontalPodAutoscaler(), ScaledObject(), Ingress(),
	HTTPRoute(), GRPCRoute(), PersistentVolumeClaim(), Secret(), ConfigMap(),
	ResourceFlavor(KueueVersion), ClusterQueue(KueueVersion), LocalQueue(KueueVersion),
}

// Workloads returns all kinds of workloads, kinds that need no manifest first.
func Workloads() []Kind {
	return slices.DeleteFunc(slices.Clone(table), func(k Kind) bool { return k.Empty() })
}

// OfMode describes how the computes of a mode run their pods. It returns an empty
// description for a mode that is not in the table.
func OfMode(mode string) *Workload {
	if k, ok := first(func(k *Kind) bool { return k.Mode == mode }, table); ok {
		return k.Workload
	}
	return &Workload{}
}

// first returns the first of some rows that matches.
func first(matches func(*Kind) bool, lists ...[]Kind) (Kind, bool) {
	for _, rows := range lists {
		for i := range rows {
			if matches(&rows[i]) {
				return rows[i], true
			}
		}
	}
	return Kind{}, false
}

// Of returns a kind that the provider writes, of any version.
func Of(of schema.GroupKind) (Kind, bool) {
	return first(func(k *Kind) bool {
		return k.Kind == of.Kind && k.Group == of.Group && k.Version != ""
	}, table, others)
}

// WorkloadOf describes how objects of a kind run their pods. It returns an empty
// description for a kind that is not in the table.
func WorkloadOf(of schema.GroupKind) *Workload {
	if k, ok := Of(of); ok && k.Workload != nil {
		return k.Workload
	}
	return &Workload{}
}

// Picked returns the kind that runs a compute without a manifest.
func Picked(c Compute) Kind {
	k, _ := first(func(k *Kind) bool { return k.Picks != nil && k.Picks(c) }, table) // a Deployment runs every compute
	return k
}

// OfRuntime returns the kind of the operator that runs the tensor servers of a
// runtime. It returns false for the runtime kubetorch and for unknown runtimes.
func OfRuntime(runtime string) (Kind, bool) {
	return first(func(k *Kind) bool { return k.Server != nil && k.Server.Runtime == runtime }, table)
}

// TensorServers returns the kinds of operators that run tensor servers.
func TensorServers() []Kind {
	return slices.DeleteFunc(slices.Clone(table), func(k Kind) bool { return k.Server == nil })
}

// RouteLabels returns the labels by which the routes of all kinds select pods.
func RouteLabels() []string {
	var labels []string
	for i := range table {
		labels = append(labels, table[i].RouteLabels...)
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// SuspendFields returns the paths of the fields that suspend a workload, of all
// kinds with such a field.
func SuspendFields() [][]string {
	var paths [][]string
	for i := range table {
		for _, s := range table[i].Suspension {
			if s.Value == true {
				paths = append(paths, s.Path)
			}
		}
	}
	slices.SortFunc(paths, func(a, b []string) int { return cmp.Or(cmp.Compare(len(a), len(b)), slices.Compare(a, b)) })
	return slices.CompactFunc(paths, slices.Equal)
}

// Guess returns a kind that may not be in the table. Its plural is the one that is usual in Kubernetes, and may differ
// from that of a CRD.
func Guess(gvk schema.GroupVersionKind) Kind {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return Kind{GroupVersionKind: gvk, Resource: plural.Resource}
}

// must returns a kind that is in the table.
func must(group, kind string) Kind {
	k, ok := Of(schema.GroupKind{Group: group, Kind: kind})
	if !ok {
		panic(fmt.Sprintf("the table of kinds has no %s of group %q", kind, group))
	}
	return k
}
