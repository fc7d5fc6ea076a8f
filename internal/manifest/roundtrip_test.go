package manifest_test

import (
	"maps"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Callers use a rendered object instead of its decoded JSON.
func TestRenderedObjectsAreWhatTheirJSONDecodesTo(t *testing.T) {
	t.Parallel()
	computes := manifestGoldens(t)
	maps.Copy(computes, tensorServerGoldens(t))
	computes["everything"] = everything(t)
	for name, c := range computes {
		c.Registered = true
		for _, object := range render(t, c) {
			text, err := manifest.JSON(object)
			if err != nil {
				t.Fatal(err)
			}
			var decoded unstructured.Unstructured
			if err := decoded.UnmarshalJSON([]byte(text)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(decoded.Object, object.Object) {
				t.Errorf("%s: -rendered +decoded:\n%s", name, cmp.Diff(object.Object, decoded.Object))
			}
		}
	}
}
