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
)

// objects are the objects of one compute by manifest.Key.
type objects map[string]*object

// object is one object of a compute. It does not change, and is decoded at most
// once: not at all if it was rendered by this request.
type object struct {
	key, text string                     // the JSON in the attribute manifests
	content   *unstructured.Unstructured // nil until it is decoded
}

// objectOf returns the object with the content, normalized.
func objectOf(content *unstructured.Unstructured) (*object, error) {
	text, err := manifest.JSON(content)
	return &object{key: manifest.Key(content), text: text}, err
}

func (o *object) decode() (*unstructured.Unstructured, error) {
	if o.content == nil {
		content := &unstructured.Unstructured{}
		if err := content.UnmarshalJSON([]byte(o.text)); err != nil {
			return nil, fmt.Errorf("manifests[%q]: %w", o.key, err)
		}
		o.content = content
	}
	return o.content, nil
}

// same reports whether both objects exist and have the same JSON.
func (o *object) same(other *object) bool { return o != nil && other != nil && o.text == other.text }

// renderOptions are the inputs of the objects of a compute in addition to its attributes.
type renderOptions struct {
	defaults tf.Defaults
	// designedFor is the number of replicas that the workload is made for,
	// which may be another than the one that runs.
	designedFor int64
	registered  bool // Kubetorch's CRD is installed
	held        bool // the workload begins suspended, for its queue to release
	resumed     bool // the workload was suspended before
	kept        bool // the number of replicas is somebody else's, and stays
	rendering
	// hasField reports whether the kind that the cluster serves has a field; nil where there is none to ask.
	hasField func(gvk schema.GroupVersionKind, path ...string) bool
}

// render makes the objects of a wholly known model.
func render(ctx context.Context, m *model, with renderOptions) (objects, diag.Diagnostics) {
	spec, diags := m.spec(ctx, with.defaults)
	if diags.HasError() {
		return nil, diags
	}
	spec.Registered, spec.HeldByQueue, spec.Resumed = with.registered, with.held, with.resumed
	spec.ReplicasKept = with.kept
	spec.Revision = with.revision
	if !manifest.RunsTensorServer(spec.Runtime) {
		spec.KubetorchVersion = with.version
	}
	if with.hasField != nil && spec.Runtime == kind.RuntimeSkyTorch {
		spec.NoOverride = !with.hasField(kind.SkyTorchCompute().GroupVersionKind, "spec", "override")
	}
	if spec.Manifest == nil || with.kept { // else it says itself what it is made for
		spec.DesignedFor = with.designedFor
	}
	rendered, err := manifest.Render(spec)
	if err != nil {
		return nil, append(diags, renderErrors(err)...)
	}
	out := objects{}
	for _, obj := range rendered {
		obj = appliable(obj)
		object, err := objectOf(obj)
		if err != nil {
			return nil, append(diags, renderErrors(err)...)
		}
		object.content = obj // the renderer has normalized it
		out[object.key] = object
	}
	return out, diags
}

// appliable is an object without the fields that no server takes.
func appliable(obj *unstructured.Unstructured) *unstructured.Unstructured {
	paths := manifest.Unserved(obj.GroupVersionKind())
	if len(paths) == 0 {
		return obj
	}
	obj = obj.DeepCopy()
	for _, path := range paths {
		unstructured.RemoveNestedField(obj.Object, path...)
	}
	return obj
}

// objectsOf reads the attribute manifests; it has no objects where it, or an
// element, is null or unknown.
func objectsOf(ctx context.Context, manifests types.Map) (objects, diag.Diagnostics) {
	out := objects{}
	if manifests.IsNull() || manifests.IsUnknown() {
		return out, nil
	}
	texts := map[string]types.String{}
	diags := manifests.ElementsAs(ctx, &texts, false)
	for key, text := range texts {
		if !text.IsNull() && !text.IsUnknown() {
			out[key] = &object{key: key, text: text.ValueString()}
		}
	}
	return out, diags
}

// value is the attribute manifests.
func (o objects) value() types.Map {
	elements := make(map[string]attr.Value, len(o))
	for key, object := range o {
		elements[key] = types.StringValue(object.text)
	}
	return types.MapValueMust(types.StringType, elements)
}

// decode returns the objects in the order in which they are applied: the
// workload, what leads to it, its registration.
func (o objects) decode() ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, key := range slices.Sorted(maps.Keys(o)) {
		obj, err := o[key].decode()
		if err != nil {
			return nil, err
		}
		out = append(out, obj)
	}
	slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(slices.Index(roles(), roleOf(a)), slices.Index(roles(), roleOf(b)))
	})
	return out, nil
}

// roles are in the order in which their objects are applied.
func roles() []manifest.Role {
	return []manifest.Role{manifest.RoleWorkload, manifest.RoleService, manifest.RoleRegistration}
}

func roleOf(obj *unstructured.Unstructured) manifest.Role {
	return manifest.RoleOf(obj.GroupVersionKind())
}

// changedFrom returns the objects that differ from prior ones or are new, and
// the ones of prior that are no more.
func (o objects) changedFrom(prior objects) (changed, gone objects) {
	changed, gone = objects{}, objects{}
	for key, object := range o {
		if !object.same(prior[key]) {
			changed[key] = object
		}
	}
	for key, object := range prior {
		if o[key] == nil {
			gone[key] = object
		}
	}
	return changed, gone
}

// keepImported keeps the prior text of each imported object that applying the
// planned one would not change: it is the server's text, and says the same in
// other words. Between two texts of the renderer, every difference is a change.
func (o objects) keepImported(prior objects, imported []string, unchanged func(planned, prior *object) bool) objects {
	out := maps.Clone(o)
	for _, key := range imported {
		planned, known := o[key], prior[key]
		if planned != nil && known != nil && !planned.same(known) && unchanged(planned, known) {
			out[key] = known
		}
	}
	return out
}

// keepWithoutEmptyText keeps the prior text of each object that the first release
// of the provider would have rendered so.
func (o objects) keepWithoutEmptyText(prior objects) objects {
	out := maps.Clone(o)
	for key, known := range prior {
		planned := o[key]
		if planned == nil || planned.same(known) {
			continue
		}
		obj, err := planned.decode()
		if err != nil {
			continue
		}
		if former, err := manifest.JSONWithoutEmptyText(obj); err == nil && former == known.text {
			out[key] = known
		}
	}
	return out
}

// workload returns the workload among the objects, nil where there is none.
func (o objects) workload() (*unstructured.Unstructured, error) {
	decoded, err := o.decode()
	if err != nil {
		return nil, err
	}
	for _, obj := range decoded {
		if roleOf(obj) == manifest.RoleWorkload {
			return obj, nil
		}
	}
	return nil, nil
}
