package compute

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// renderOptions are the inputs of the objects of a compute in addition to its attributes.
type renderOptions struct {
	defaults tf.Defaults
	versions
	registered   bool // render the registration with Kubetorch
	heldByQueue  bool // create or resume the workload suspended, until its queue admits it
	wasSuspended bool
	selector     map[string]any // of an imported workload, which the compute keeps; nil for that of this provider
	// hasField reports whether the served version of a kind has a field; nil if no cluster is available.
	hasField func(gvk schema.GroupVersionKind, path ...string) bool
}

// render returns the objects of a model without unknown values.
func render(ctx context.Context, m *model, options renderOptions) (owned.Objects, diag.Diagnostics) {
	spec, diags := m.spec(newConverter(ctx), options.defaults)
	if diags.HasError() {
		return nil, diags
	}
	rendered, rejected := renderSpec(spec, options)
	return rendered, append(diags, rejected...)
}

// renderSpec is render for a model that has been converted.
func renderSpec(spec manifest.Compute, options renderOptions) (owned.Objects, diag.Diagnostics) {
	spec.Registered, spec.HeldByQueue, spec.Resumed = options.registered, options.heldByQueue, options.wasSuspended
	spec.KeptSelector = options.selector
	spec.Revision = options.revision
	if !manifest.RunsTensorServer(spec.Runtime) {
		spec.KubetorchVersion = options.kubetorch
	}
	if options.hasField != nil && spec.Runtime == kind.RuntimeSkyTorch {
		spec.NoOverride = !options.hasField(kind.SkyTorchCompute().GroupVersionKind, "spec", "override")
	}
	rendered, err := manifest.Render(spec)
	if err != nil {
		return nil, renderErrors(err)
	}
	for i, content := range rendered {
		rendered[i] = withoutUnserved(content)
	}
	out, err := owned.Rendered(rendered)
	if err != nil {
		return nil, renderErrors(err)
	}
	return out, nil
}

// withoutUnserved returns an object without the fields that no API server accepts.
func withoutUnserved(obj *unstructured.Unstructured) *unstructured.Unstructured {
	paths := kind.WorkloadOf(obj.GroupVersionKind().GroupKind()).Unserved
	if len(paths) == 0 {
		return obj
	}
	obj = obj.DeepCopy()
	for _, path := range paths {
		unstructured.RemoveNestedField(obj.Object, path...)
	}
	return obj
}

// rank returns the position of an object in the order in which they are applied: workload, Services,
// PodDisruptionBudget, autoscaler, Ingress or route, registration.
func rank(obj *unstructured.Unstructured) int {
	return slices.Index([]manifest.Role{manifest.RoleWorkload, manifest.RoleService, manifest.RoleDisruptionBudget,
		manifest.RoleAutoscaler, manifest.RoleExpose, manifest.RoleRegistration}, roleOf(obj))
}

// sorted returns the content of objects in the order in which they are applied.
func sorted(objects owned.Objects) []*unstructured.Unstructured { return objects.Sorted(rank) }

func roleOf(obj *unstructured.Unstructured) manifest.Role {
	return manifest.RoleOf(obj.GroupVersionKind())
}

func isWorkload(obj *unstructured.Unstructured) bool { return roleOf(obj) == manifest.RoleWorkload }

// withRole returns the first object with a role, or nil.
func withRole(objects owned.Objects, role manifest.Role) *unstructured.Unstructured {
	for _, obj := range sorted(objects) {
		if roleOf(obj) == role {
			return obj
		}
	}
	return nil
}

// workloadIn returns the workload, or nil.
func workloadIn(objects owned.Objects) *unstructured.Unstructured {
	return withRole(objects, manifest.RoleWorkload)
}

// isRegistered reports whether the objects contain the registration with Kubetorch.
func isRegistered(objects owned.Objects) bool {
	return withRole(objects, manifest.RoleRegistration) != nil
}

// hasSuspension reports whether the workload has a field that can suspend it. A queue removes it from the owned fields
// when it admits the workload.
func hasSuspension(objects owned.Objects) bool {
	workload := workloadIn(objects)
	if workload == nil {
		return false
	}
	of := kind.WorkloadOf(workload.GroupVersionKind().GroupKind())
	return slices.ContainsFunc(of.Suspension, func(s kind.Setting) bool {
		_, found := kind.Find(workload.Object, s.Path)
		return found && s.Value == true
	})
}
