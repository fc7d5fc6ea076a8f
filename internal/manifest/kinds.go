package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A kind is one way to run a compute.
type kind struct {
	mode     string // the attribute mode
	template string // Kubetorch's name for it, in the label kubetorch.com/template
	// gvk is the kind of the workload; empty where there is none.
	gvk schema.GroupVersionKind
	// container is the name of the main container.
	container string

	// picks tells whether a compute without a manifest of the user's is run
	// this way. The first row wins. Nil: only a manifest asks for this kind.
	picks func(Compute) bool
	// spec is the spec of the workload, pods included, where picks is not nil.
	spec func(Compute, kind) (map[string]any, error)
	// complete adds to a manifest of the user's what the kind needs beside its
	// pods; it may be nil.
	complete func(Compute, map[string]any)

	// groups are the pods of a workload, those of the main container first.
	groups groupsFunc
	// scales tells whether the number of the pods can be asked for.
	scales bool
	// suspension changes a rendered workload so that none of its pods run;
	// empty where that cannot be.
	suspension []setting
	// admitted tells whether Kueue lets a workload run by taking back its
	// suspension (https://kueue.sigs.k8s.io/docs/concepts/workload/). It is given
	// at creation then, and left to Kueue ever after. One that the user suspends
	// leaves the queue, or Kueue would start it all the same.
	admitted bool

	// observe reads back from the workload what decides its pods; nil: they are in
	// the template of the first group.
	observe func(c *Compute, workload map[string]any)

	// fixed are fields that no service_template may change, besides those that
	// hold for all kinds.
	fixed [][]string
	// lasting are fields that the API server lets change, but whoever runs the
	// workload does not.
	lasting [][]string
	// keepsPods tells whether pods that run stay as they are when their template
	// changes, since only new ones are made from it; nil: they do not.
	keepsPods func(workload map[string]any) bool

	// selects tells whether spec.selector finds the pods.
	selects bool
	// route narrows the Service to the pods that take calls; nil: all do.
	route func(workload map[string]any) map[string]string
	// ownService tells whether the controller of the kind makes a Service of
	// the workload's name itself.
	ownService bool
}

// A setting is a field and the value that it is given; nil removes it.
type setting struct {
	path  []string
	value any
}

// kinds is the table of all kinds. Where a compute brings no manifest, the
// first row that picks it wins, so the particular ones come first. A new kind is
// a file with its row, and a line here.
func kinds() []kind {
	return []kind{
		skyTorchKind(),
		kpuKind(),
		selectorKind(),
		knativeKind(),
		rayClusterKind(),
		deploymentKind(),
		statefulSetKind(),
		daemonSetKind(),
		replicaSetKind(),
		podKind(),
		jobKind(),
		cronJobKind(),
		jobSetKind(),
		pyTorchJobKind(),
		tfJobKind(),
		mxJobKind(),
		xgBoostJobKind(),
	}
}

func kindOf(c Compute) kind {
	if c.Manifest != nil {
		k, _ := kindOfObject(gvkOf(c.Manifest), c.PodTemplatePath)
		return k
	}
	for _, k := range kinds() {
		if k.picks != nil && k.picks(c) {
			return k
		}
	}
	return deploymentKind()
}

// kindOfObject finds the row of a workload, whatever its version. An unknown
// kind has its pod template at podTemplate.
func kindOfObject(gvk schema.GroupVersionKind, podTemplate []string) (k kind, known bool) {
	for _, k := range kinds() {
		if !k.gvk.Empty() && k.gvk.GroupKind() == gvk.GroupKind() {
			return k, true
		}
	}
	return customKind(gvk, podTemplate), false
}

func gvkOf(object map[string]any) schema.GroupVersionKind {
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, name)
}

// customKind is a kind of the user's that is not in the table. Its number of
// pods is what its manifest says.
func customKind(gvk schema.GroupVersionKind, podTemplate []string) kind {
	mode := strings.ToLower(gvk.Kind)
	return kind{
		mode: mode, template: mode, gvk: gvk, container: ContainerName,
		groups: pods(group{template: podTemplate}),
	}
}

// toMap turns a pointer to an apply configuration into what it is in JSON,
// without the fields that were not set.
func toMap(applyConfiguration any) (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(applyConfiguration)
}
