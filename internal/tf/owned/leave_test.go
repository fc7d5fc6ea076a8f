package owned

import (
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// An apply without a field removes it, unless it was left before.
func TestLeftFieldKeepsItsValue(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		field    string
		left     bool // Leave is called
		forgets  bool // the state does not know the object
		removed  bool // the object is gone before
		code     int  // of the response to the change of the records
		requests bool
		kept     bool
		failed   bool
	}{
		"a field":                     {field: "size", left: true, requests: true, kept: true},
		"an unknown object":           {field: "size", left: true, forgets: true, requests: true, kept: true},
		"a field that is not left":    {field: "size"},
		"a field of another manager":  {field: "theirs", left: true},
		"a field that does not exist": {field: "none", left: true},
		"an object that is gone":      {field: "size", left: true, removed: true, requests: true},
		"a failure": {field: "size", left: true, code: http.StatusForbidden, requests: true,
			failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, memory := newRun(t), Memory{}
			if _, diags, err := Create(t.Context(), r.Run, memory, creation(),
				configMap("a", "size", "3", "color", "red")); err != nil {
				t.Fatal(err, diags)
			}
			live := r.Server.Apply(t, somebody, configMap("a", "theirs", "1"))
			if test.forgets {
				memory = Memory{}
			}
			if test.removed {
				r.Remove(mapPath + "a")
			}
			if test.code != 0 {
				r.fails("patch", "/a", test.code)
			}
			if test.left {
				err := Leave(t.Context(), r.Cluster, memory, refOf(t, live), live, []string{"data", test.field})
				if (err != nil) != test.failed {
					t.Fatal(err)
				}
			}
			if got := r.Requests("patch"); len(got) > 0 != test.requests {
				t.Errorf("requests %q", got)
			}
			if set, known := memory.applied(mapKey); known == test.forgets ||
				known && test.left && set.Has(fieldpath.MakePathOrDie("data", test.field)) {
				t.Errorf("the state knows %v", set)
			}
			if test.removed || test.failed {
				return
			}
			// The API server only knows the record of the object.
			if after := r.Server.Apply(t, kube.Manager, configMap("a", "color", "blue")); hasData(after, "size") !=
				test.kept || !hasData(after, "theirs") {
				t.Errorf("after the apply: %v", after.Object["data"])
			}
		})
	}
}

func hasData(obj *unstructured.Unstructured, key string) bool {
	_, has, _ := unstructured.NestedString(obj.Object, "data", key)
	return has
}
