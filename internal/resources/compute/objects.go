package compute

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// objects are the objects of one compute by [manifest.Key].
type objects map[string]*object

// object is one object of a compute, as JSON and decoded. It is immutable.
type object struct {
	key, text string // key and value in the attribute manifests
	content   *unstructured.Unstructured
}

// parseObject decodes an element of the attribute manifests.
func parseObject(key, text string) (*object, error) {
	content := &unstructured.Unstructured{}
	if err := content.UnmarshalJSON([]byte(text)); err != nil {
		return nil, fmt.Errorf("manifests[%q]: %w", key, err)
	}
	return &object{key: key, text: text, content: content}, nil
}

// objectOf returns the object with the content, normalized.
func objectOf(content *unstructured.Unstructured) (*object, error) {
	text, err := manifest.JSON(content)
	if err != nil {
		return nil, err
	}
	return parseObject(manifest.Key(content), text)
}

// equal reports whether both objects exist and have the same JSON.
func (o *object) equal(other *object) bool { return o != nil && other != nil && o.text == other.text }

// renderOptions are the inputs of the objects of a compute in addition to its attributes.
type renderOptions struct {
	defaults tf.Defaults
	versions
	// designReplicas is the number of replicas that the update strategy is selected for. It differs from the current
	// number if another client has scaled the workload.
	designReplicas   int64
	preserveReplicas bool // keep the number of replicas that another client has set
	registered       bool // render the registration with Kubetorch
	heldByQueue      bool // create or resume the workload suspended, until its queue admits it
	wasSuspended     bool
	// hasField reports whether the served version of a kind has a field; nil if no cluster is available.
	hasField func(gvk schema.GroupVersionKind, path ...string) bool
}

// render returns the objects of a model without unknown values.
func render(ctx context.Context, m *model, options renderOptions) (objects, diag.Diagnostics) {
	spec, diags := m.spec(&converter{ctx: ctx}, options.defaults)
	if diags.HasError() {
		return nil, diags
	}
	rendered, rejected := renderSpec(spec, options)
	return rendered, append(diags, rejected...)
}

// renderSpec is render for a model that has been converted.
func renderSpec(spec manifest.Compute, options renderOptions) (objects, diag.Diagnostics) {
	spec.Registered, spec.HeldByQueue, spec.Resumed = options.registered, options.heldByQueue, options.wasSuspended
	spec.ReplicasPreserved = options.preserveReplicas
	spec.Revision = options.revision
	if !manifest.RunsTensorServer(spec.Runtime) {
		spec.KubetorchVersion = options.kubetorch
	}
	if options.hasField != nil && spec.Runtime == kind.RuntimeSkyTorch {
		spec.NoOverride = !options.hasField(kind.SkyTorchCompute().GroupVersionKind, "spec", "override")
	}
	if spec.Manifest == nil || options.preserveReplicas { // otherwise the manifest contains the strategy
		spec.DesignedFor = options.designReplicas
	}
	rendered, err := manifest.Render(spec)
	if err != nil {
		return nil, renderErrors(err)
	}
	out := objects{}
	for _, content := range rendered {
		content = withoutUnserved(content)
		text, err := manifest.JSON(content)
		if err != nil {
			return nil, renderErrors(err)
		}
		key := manifest.Key(content)
		out[key] = &object{key: key, text: text, content: content}
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

// objectsOf decodes the attribute manifests. Null and unknown elements are no objects.
func objectsOf(manifests types.Map) (objects, error) {
	out := objects{}
	for key, element := range manifests.Elements() {
		text, ok := element.(types.String)
		if !ok || !isKnown(text) {
			continue
		}
		var err error
		if out[key], err = parseObject(key, text.ValueString()); err != nil {
			return objects{}, err
		}
	}
	return out, nil
}

// value returns the attribute manifests.
func (o objects) value() types.Map {
	elements := make(map[string]attr.Value, len(o))
	for key, object := range o {
		elements[key] = types.StringValue(object.text)
	}
	return types.MapValueMust(types.StringType, elements)
}

// sorted returns the content of the objects in the order in which they are applied: workload, Services,
// PodDisruptionBudget, Ingress or route, registration.
func (o objects) sorted() []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, key := range slices.Sorted(maps.Keys(o)) {
		out = append(out, o[key].content)
	}
	order := []manifest.Role{manifest.RoleWorkload, manifest.RoleService, manifest.RoleDisruptionBudget,
		manifest.RoleExpose, manifest.RoleRegistration}
	slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(slices.Index(order, roleOf(a)), slices.Index(order, roleOf(b)))
	})
	return out
}

func roleOf(obj *unstructured.Unstructured) manifest.Role {
	return manifest.RoleOf(obj.GroupVersionKind())
}

// label returns the value of a label of the objects, or "".
func (o objects) label(name string) string { return owned.Label(o.sorted(), name) }

// withRole returns the first object with a role, or nil.
func (o objects) withRole(role manifest.Role) *unstructured.Unstructured {
	for _, obj := range o.sorted() {
		if roleOf(obj) == role {
			return obj
		}
	}
	return nil
}

// workload returns the workload, or nil.
func (o objects) workload() *unstructured.Unstructured { return o.withRole(manifest.RoleWorkload) }

// registered reports whether the objects contain the registration with Kubetorch.
func (o objects) registered() bool { return o.withRole(manifest.RoleRegistration) != nil }

// hasSuspension reports whether the workload has a field that suspends it. A queue removes it from the owned fields
// when it admits the workload.
func (o objects) hasSuspension() bool {
	workload := o.workload()
	if workload == nil {
		return false
	}
	return slices.ContainsFunc(manifest.LeftAfterCreation(workload.GroupVersionKind()), func(path []string) bool {
		_, found, _ := unstructured.NestedFieldNoCopy(workload.Object, path...)
		return found
	})
}

// changedFrom returns the objects that are new or differ from the prior ones, and the prior ones that no longer exist.
func (o objects) changedFrom(prior objects) (changed, obsolete objects) {
	changed, obsolete = objects{}, objects{}
	for key, object := range o {
		if !object.equal(prior[key]) {
			changed[key] = object
		}
	}
	for key, object := range prior {
		if o[key] == nil {
			obsolete[key] = object
		}
	}
	return changed, obsolete
}

// preserve returns the objects, of which the prior version replaces each different one for which unchanged is true.
func (o objects) preserve(prior objects, unchanged func(planned, prior *object) bool) objects {
	out := maps.Clone(o)
	for key, planned := range o {
		if before := prior[key]; before != nil && !planned.equal(before) && unchanged(planned, before) {
			out[key] = before
		}
	}
	return out
}

// differsInEmptyText reports whether the prior object is the planned one as the first release of the provider rendered
// it, which omitted empty strings.
func differsInEmptyText(planned, prior *object) bool {
	text, err := manifest.JSONWithoutEmptyText(planned.content)
	return err == nil && text == prior.text
}
