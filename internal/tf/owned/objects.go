package owned

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

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

// Objects are the objects of one resource by [manifest.Key].
type Objects map[string]*Object

// Object is one object of a resource, as JSON and decoded. It is immutable.
type Object struct {
	Key, Text string // key and value in the attribute manifests
	Content   *unstructured.Unstructured
}

// ParseObject decodes an element of the attribute manifests.
func ParseObject(key, text string) (*Object, error) {
	content := &unstructured.Unstructured{}
	if err := content.UnmarshalJSON([]byte(text)); err != nil {
		return nil, fmt.Errorf("manifests[%q]: %w", key, err)
	}
	return &Object{Key: key, Text: text, Content: content}, nil
}

// ObjectOf returns the object with the content, normalized.
func ObjectOf(content *unstructured.Unstructured) (*Object, error) {
	text, err := manifest.JSON(content)
	if err != nil {
		return nil, err
	}
	return ParseObject(manifest.Key(content), text)
}

// Equal reports whether other exists and has the same JSON.
func (o *Object) Equal(other *Object) bool { return other != nil && o.Text == other.Text }

// Rendered returns objects that the renderer has normalized.
func Rendered(contents []*unstructured.Unstructured) (Objects, error) {
	out := Objects{}
	for _, content := range contents {
		text, err := manifest.JSON(content)
		if err != nil {
			return nil, err
		}
		key := manifest.Key(content)
		out[key] = &Object{Key: key, Text: text, Content: content}
	}
	return out, nil
}

// ObjectsOf decodes the attribute manifests. Null and unknown elements are no objects.
func ObjectsOf(manifests types.Map) (Objects, error) {
	out := Objects{}
	for key, text := range tf.Texts(manifests) {
		var err error
		if out[key], err = ParseObject(key, text); err != nil {
			return Objects{}, err
		}
	}
	return out, nil
}

// ObjectIn returns the object in the attribute manifests of a resource with one object. It is nil while it is unknown.
func ObjectIn(manifests types.Map) (*unstructured.Unstructured, error) {
	objects, err := ObjectsOf(manifests)
	for _, object := range objects {
		return object.Content, nil
	}
	return nil, err
}

// ManifestsOf returns the attribute manifests of a resource with one object.
func ManifestsOf(obj *unstructured.Unstructured) (types.Map, error) {
	objects, err := Rendered([]*unstructured.Unstructured{obj})
	return objects.Value(), err
}

// Value returns the attribute manifests.
func (o Objects) Value() types.Map {
	elements := make(map[string]attr.Value, len(o))
	for key, object := range o {
		elements[key] = types.StringValue(object.Text)
	}
	return types.MapValueMust(types.StringType, elements)
}

// Sorted returns the content of the objects in the order of their ranks, and with the same rank in that of their keys.
func (o Objects) Sorted(rank func(*unstructured.Unstructured) int) []*unstructured.Unstructured {
	out := kind.Each(slices.Sorted(maps.Keys(o)), func(key string) *unstructured.Unstructured { return o[key].Content })
	slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// ChangedFrom returns the objects that are new or differ from the prior ones, and the prior ones that no longer exist.
func (o Objects) ChangedFrom(prior Objects) (changed, obsolete Objects) {
	changed, obsolete = Objects{}, Objects{}
	for key, object := range o {
		if !object.Equal(prior[key]) {
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

// Preserve returns the objects, of which the prior version replaces each different one for which unchanged is true.
func (o Objects) Preserve(prior Objects, unchanged func(planned, prior *Object) bool) Objects {
	out := maps.Clone(o)
	for key, planned := range o {
		if before := prior[key]; before != nil && !planned.Equal(before) && unchanged(planned, before) {
			out[key] = before
		}
	}
	return out
}

// DeleteObjects deletes objects in the given order and waits until they and the pods that podLabels select are gone. It
// returns the keys of those that may remain, because their deletion failed or has not ended.
func DeleteObjects(
	ctx context.Context, r *run.Run, recorded RecordedCluster, objects []*unstructured.Unstructured,
	memory Memory, podLabels map[string]string,
) (remaining map[string]bool, diags diag.Diagnostics) {
	remaining = map[string]bool{}
	terminating := map[string]kube.Ref{}
	var started []string
	for _, obj := range objects {
		key := manifest.Key(obj)
		ref, err := r.Cluster.Discovery.LiveRef(ctx, obj)
		begun := false
		if err == nil {
			var others diag.Diagnostics
			begun, others, err = Delete(ctx, r, memory, key, ref)
			diags.Append(others...)
		}
		switch {
		case recorded.KindRemoved(ctx, r.Cluster, ref, err):
		case err != nil:
			diags.Append(Failure(err))
			remaining[key] = true
		case begun:
			started, terminating[key] = append(started, key), ref
		default: // gone, or now of another resource
			diags.Append(NotDeletedWarning(r, ref)...)
		}
	}
	for _, key := range started {
		ref := terminating[key]
		if err := observe.WaitGone(ctx, r.Cluster, ref, r.Cluster.DeletionOf(ref), podLabels); err != nil {
			diags.Append(tf.Failure(err))
			remaining[key] = true
		}
	}
	return remaining, diags
}
