package manifest

import (
	"cmp"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Revision is one way to render what runs in the pods of a compute, apart from
// its attributes. Pods restart when it changes, so an object keeps the revision
// that it was made with, whatever release of the provider applies it later.
type Revision struct {
	// Number is 1 or more, and stays with the revision for good.
	Number int64
	// StartupScript is what bash runs in the container of a workload of a kind.
	StartupScript func(Compute, schema.GroupVersionKind) string `json:"-"`
	// Probes are those of the container.
	Probes func(Compute) Probes `json:"-"`
}

// Probes are the probes of one container.
type Probes struct {
	Startup, Readiness, Liveness *corev1ac.ProbeApplyConfiguration
}

// Revisions are all revisions that can be rendered, the newest last. What a
// released one renders must never change: a change is a further entry, with
// functions of its own.
func Revisions() []Revision {
	return []Revision{
		{Number: 1, StartupScript: scriptOf, Probes: healthProbes},
	}
}

// scriptOf is startupScript for a kind of the table, or another one.
func scriptOf(c Compute, gvk schema.GroupVersionKind) string {
	k, _ := kindOfObject(gvk, c.PodTemplatePath)
	return startupScript(c, k)
}

// revision is the one that a compute is rendered with.
func (c Compute) revision() Revision {
	if c.Revision.Number > 0 {
		return c.Revision
	}
	all := Revisions()
	return all[len(all)-1]
}

// version is the release of Kubetorch that the pods of a compute install.
func (c Compute) version() string { return cmp.Or(c.KubetorchVersion, KubetorchVersion) }

// SamePods reports whether two renderings of one workload have the same pod
// templates. podTemplate is where the pods of a kind are that is not in the
// table.
func SamePods(a, b *unstructured.Unstructured, podTemplate ...string) bool {
	return reflect.DeepEqual(templates(a, podTemplate), templates(b, podTemplate))
}

func templates(workload *unstructured.Unstructured, podTemplate []string) []any {
	k, _ := kindOfObject(workload.GroupVersionKind(), podTemplate)
	if k.RunsTensorServer() {
		content, _ := kind.Find(workload.Object, []string{"spec"}) // the operator makes the pods of it
		return []any{normalizeValue(content, "")}
	}
	groups := k.Groups(workload.Object)
	all := make([]any, len(groups))
	for i, g := range groups {
		content, _ := kind.Find(workload.Object, slices.Clone(g.Template))
		all[i] = normalizeValue(content, "")
	}
	return all
}
