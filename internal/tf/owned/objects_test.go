package owned

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// unencodable is an object that has no JSON.
func unencodable() *unstructured.Unstructured {
	obj := configMap("a")
	obj.Object["data"] = math.NaN()
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: kube.Manager, Operation: "Apply",
		FieldsV1: metav1.NewFieldsV1(`{"f:data":{}}`)}})
	return obj
}

func TestManifestsAreDecodedAndEncoded(t *testing.T) {
	t.Parallel()
	objects, err := Rendered(contents(configMap("a", "k", "v"), configMap("b")))
	if err != nil {
		t.Fatal(err)
	}
	elements := objects.Value().Elements()
	again, err := ObjectsOf(objects.Value())
	if err != nil || !slices.Equal(keys(again), []string{"ConfigMap/ml/a", "ConfigMap/ml/b"}) || len(elements) != 2 {
		t.Fatalf("%v, %v, %v", again, elements, err)
	}
	for key, object := range again {
		if object.Key != key || !object.Equal(objects[key]) || object.Equal(nil) || object.Content.GetName() == "" ||
			!elements[key].Equal(types.StringValue(object.Text)) {
			t.Errorf("%s: %+v", key, object)
		}
	}
	if again["ConfigMap/ml/a"].Equal(again["ConfigMap/ml/b"]) {
		t.Error("different objects are equal")
	}
	mixed := types.MapValueMust(types.StringType, map[string]attr.Value{
		"a": types.StringNull(), "b": types.StringUnknown(), "c": types.StringValue(again["ConfigMap/ml/a"].Text)})
	if objects, err := ObjectsOf(mixed); err != nil || !slices.Equal(keys(objects), []string{"c"}) {
		t.Errorf("null and unknown elements: %v, %v", objects, err)
	}
	wrong := types.MapValueMust(types.Int64Type, map[string]attr.Value{"a": types.Int64Value(1)})
	if objects, err := ObjectsOf(wrong); err != nil || len(objects) > 0 {
		t.Errorf("an element that is no text: %v, %v", objects, err)
	}
}

func TestManifestThatIsNoObjectIsAnErrorWithItsKey(t *testing.T) {
	t.Parallel()
	broken := types.MapValueMust(types.StringType, map[string]attr.Value{"ConfigMap/ml/a": types.StringValue("{")})
	if objects, err := ObjectsOf(broken); err == nil || len(objects) > 0 ||
		!strings.Contains(err.Error(), `manifests["ConfigMap/ml/a"]`) {
		t.Errorf("%v, %v", objects, err)
	}
	if object, err := ObjectOf(unencodable()); err == nil || object != nil {
		t.Errorf("%v, %v", object, err)
	}
	if objects, err := Rendered(contents(unencodable())); err == nil || objects != nil {
		t.Errorf("%v, %v", objects, err)
	}
	if _, _, err := (Objects{}).Import(Memory{}, unencodable()); err == nil {
		t.Error("imported")
	}
	number := unencodable()
	number.Object["data"] = int64(1)
	if fresh, err := (Memory{}).Refresh(mapKey, number, unencodable()); err == nil {
		t.Errorf("the live object: %v", fresh)
	}
	if fresh, err := (Memory{}).Refresh(mapKey, unencodable(), number); err == nil {
		t.Errorf("the object in state: %v", fresh)
	}
	r, rendered := newRun(t), configMap("a")
	rendered.Object["data"] = int64(1)
	r.Server.Apply(t, somebody, configMap("a"))
	if ok, err := (Objects{}).Adopt(t.Context(), r.Cluster, Memory{}, unencodable(), rendered); ok ||
		err == nil {
		t.Errorf("adopted: %t, %v", ok, err)
	}
}

func TestObjectsAreSortedByRankThenByKey(t *testing.T) {
	t.Parallel()
	rank := func(obj *unstructured.Unstructured) int { return map[string]int{"c": 0, "b": 1, "a": 1}[obj.GetName()] }
	var names []string
	for _, obj := range named(t, "1", "b", "a", "c").Sorted(rank) {
		names = append(names, obj.GetName())
	}
	if !slices.Equal(names, []string{"c", "a", "b"}) {
		t.Errorf("sorted %v", names)
	}
}

// A plan must not show a change that an apply would not make.
func TestUnchangedObjectsKeepTheirPriorText(t *testing.T) {
	t.Parallel()
	planned, prior := named(t, "2", "new", "changed", "unchanged"), named(t, "1", "changed", "unchanged")
	maps.Copy(planned, named(t, "1", "equal"))
	maps.Copy(prior, named(t, "1", "equal"))
	var compared []string
	out := planned.Preserve(prior, func(planned, prior *Object) bool {
		compared = append(compared, planned.Content.GetName())
		return prior.Content.GetName() == "unchanged"
	})
	versions := map[string]string{}
	for _, object := range out {
		versions[object.Content.GetName()], _, _ = unstructured.NestedString(object.Content.Object, "data", "version")
	}
	want := map[string]string{"new": "2", "changed": "2", "unchanged": "1", "equal": "1"}
	if !maps.Equal(versions, want) {
		t.Errorf("versions %v, want %v", versions, want)
	}
	if slices.Sort(compared); !slices.Equal(compared, []string{"changed", "unchanged"}) {
		t.Errorf("compared %v", compared)
	}
	if changed := planned["ConfigMap/ml/unchanged"]; strings.Contains(changed.Text, `"1"`) {
		t.Error("the planned objects are modified")
	}
}
