package manifest

import (
	"cmp"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Revision renders the content of the pods that does not follow from attributes.
// Changing it restarts the pods, so an object keeps the revision with which it was
// created, regardless of the release of the provider.
type Revision struct {
	// Number is 1 or more, and never changes.
	Number int64
	// StartupScript returns the script that bash runs in the container of a workload
	// of a kind.
	StartupScript func(Compute, kind.Kind) string `json:"-"`
	// Probes returns the probes of the container.
	Probes func(Compute) Probes `json:"-"`
}

// Probes are the probes of one container.
type Probes struct {
	Startup, Readiness, Liveness *corev1ac.ProbeApplyConfiguration
}

// Revisions returns all supported revisions, the newest last. The output of a
// released revision must never change: a change needs a new revision with separate
// functions.
func Revisions() []Revision {
	return []Revision{
		{Number: 1, StartupScript: startupScript, Probes: healthProbes},
	}
}

// revision returns the revision that renders a compute.
func (c Compute) revision() Revision {
	if c.Revision.Number > 0 {
		return c.Revision
	}
	all := Revisions()
	return all[len(all)-1]
}

// version returns the release of Kubetorch that the pods of a compute install.
func (c Compute) version() string { return cmp.Or(c.KubetorchVersion, KubetorchVersion) }

// SamePods reports whether two renderings of one workload have the same pod
// templates. podTemplate is the path of the pod template of a kind that is not in
// the table.
func SamePods(a, b *unstructured.Unstructured, podTemplate ...string) bool {
	return reflect.DeepEqual(templates(a, podTemplate), templates(b, podTemplate))
}

func templates(workload *unstructured.Unstructured, podTemplate []string) []any {
	k, _ := kindOfObject(workload.GroupVersionKind(), podTemplate)
	object := Normalize(workload)
	if k.RunsTensorServer() {
		return []any{object["spec"]} // from which the operator creates the pods
	}
	groups := k.Groups(object)
	all := make([]any, len(groups))
	for i, g := range groups {
		all[i], _ = kind.Find(object, g.Template)
	}
	return all
}
