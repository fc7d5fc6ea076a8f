package kind

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// table has all kinds of workload. Where a compute brings no manifest, the first
// row that picks it wins, so the particular ones come first.
//
//nolint:gochecknoglobals // built once, since every object is looked up in it; nothing writes to it
var table = []Kind{
	skyTorchCompute(),
	kpuCompute(),
	selector(),
	knativeService(),
	rayCluster(),
	deployment(),
	statefulSet(),
	daemonSet(),
	replicaSet(),
	pod(),
	job(),
	cronJob(),
	jobSet(),
	leaderWorkerSet(),
	pyTorchJob(),
	tfJob(),
	mxJob(),
	xgBoostJob(),
}

// others are the kinds without pods that the provider writes.
//
//nolint:gochecknoglobals // as table
var others = []Kind{
	KubetorchWorkload(), Service(), PersistentVolumeClaim(), Secret(), ConfigMap(),
}

// queues are the kinds that the provider only reads, in any version.
//
//nolint:gochecknoglobals // as table
var queues = []Kind{LocalQueue(""), KAIQueue()}

// Written returns all kinds that the provider writes.
func Written() []Kind { return slices.Concat(Workloads(), others) }

// Workloads returns all kinds of workloads, kinds that need no manifest first.
func Workloads() []Kind {
	return slices.DeleteFunc(slices.Clone(table), func(k Kind) bool { return k.Empty() })
}

// OfMode is how the computes of a mode run their pods; an empty one for a mode
// that is not in the table.
func OfMode(mode string) *Workload {
	for i := range table {
		if table[i].Mode == mode {
			return table[i].Workload
		}
	}
	return &Workload{}
}

// Of returns a kind that the provider writes, of any version.
func Of(of schema.GroupKind) (Kind, bool) {
	for _, rows := range [][]Kind{table, others} {
		for i := range rows {
			if k := &rows[i]; k.Kind == of.Kind && k.Group == of.Group && k.Version != "" {
				return *k, true
			}
		}
	}
	return Kind{}, false
}

// WorkloadOf is how objects of a kind run their pods; an empty one for a kind that
// is not in the table.
func WorkloadOf(of schema.GroupKind) *Workload {
	if k, ok := Of(of); ok && k.Workload != nil {
		return k.Workload
	}
	return &Workload{}
}

// Picked is the kind that runs a compute which brings no manifest.
func Picked(c Compute) Kind {
	for i := range table {
		if k := &table[i]; k.Picks != nil && k.Picks(c) {
			return *k
		}
	}
	return Deployment()
}

// OfRuntime is the kind of the operator that runs the tensor servers of a
// runtime; false for Kubetorch's own and unknown runtimes.
func OfRuntime(runtime string) (Kind, bool) {
	for i := range table {
		if k := &table[i]; k.Server != nil && k.Server.Runtime == runtime {
			return *k, true
		}
	}
	return Kind{}, false
}

// TensorServers are the kinds of operators that run tensor servers.
func TensorServers() []Kind {
	return slices.DeleteFunc(slices.Clone(table), func(k Kind) bool { return k.Server == nil })
}

// Operator is what to install so that a cluster has the kinds of a group, with
// its address; "" where that is not known.
func Operator(group string) string {
	for _, rows := range [][]Kind{table, others, queues} {
		for i := range rows {
			if rows[i].Group == group && rows[i].Operator != "" {
				return rows[i].Operator
			}
		}
	}
	return ""
}

// RouteLabels are those by which the routes of all kinds select pods.
func RouteLabels() []string {
	var labels []string
	for i := range table {
		labels = append(labels, table[i].RouteLabels...)
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// SuspendFields are the paths of all fields by which kinds are suspended that
// have one for it.
func SuspendFields() [][]string {
	var paths [][]string
	for i := range table {
		for _, s := range table[i].Suspension {
			if s.Value == true && !slices.ContainsFunc(paths, func(path []string) bool { return slices.Equal(path, s.Path) }) {
				paths = append(paths, s.Path)
			}
		}
	}
	slices.SortFunc(paths, func(a, b []string) int { return cmp.Compare(len(a), len(b)) })
	return paths
}

// must returns a kind that is in the table.
func must(group, kind string) Kind {
	k, ok := Of(schema.GroupKind{Group: group, Kind: kind})
	if !ok {
		panic(fmt.Sprintf("the table of kinds has no %s of group %q", kind, group))
	}
	return k
}
