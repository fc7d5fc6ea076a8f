package manifest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A kind is one way to run a compute.
type kind struct {
	mode     string // the attribute mode
	template string // Kubetorch's name for it, in the label kubetorch.com/template
	gvk      schema.GroupVersionKind

	// picks tells whether a compute is run this way. The first row wins.
	picks func(Compute) bool
	// spec is the spec of the workload, pods included.
	spec func(Compute) (map[string]any, error)
	// suspend changes a rendered workload so that none of its pods run.
	suspend func(workload map[string]any)

	// podTemplate is the path of the pod template with the main container.
	podTemplate []string
	// fixed are the paths that service_template must leave alone because the
	// workload would no longer find its pods.
	fixed [][]string
}

// kinds is the table of all kinds, the particular ones before the general. A
// new kind is a file with its row, and a line here.
func kinds() []kind {
	return []kind{
		deploymentKind(),
	}
}

func kindOf(c Compute) kind {
	table := kinds()
	for _, k := range table {
		if k.picks(c) {
			return k
		}
	}
	return table[len(table)-1]
}

// toMap turns a pointer to an apply configuration into what it is in JSON,
// without the fields that were not set.
func toMap(applyConfiguration any) (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(applyConfiguration)
}
