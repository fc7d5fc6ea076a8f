package compute

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// The core Service of a Knative Service has the same key, belongs to a Route, and is deleted with the Knative Service.
func TestObjectsOfAReplacedComputeAreDeletedWithIt(t *testing.T) {
	t.Parallel()
	knative := owned.Memory{"Service/ml/x": {UID: "k"}}
	const serving = "serving.knative.dev"
	route := func(name, group string, uid apitypes.UID) *metav1.OwnerReference {
		return &metav1.OwnerReference{APIVersion: group + "/v1", Kind: "Route", Name: name, UID: uid}
	}
	for name, c := range map[string]struct {
		replaced owned.Memory
		uid      apitypes.UID
		owner    *metav1.OwnerReference
		want     bool
	}{
		"nothing is replaced":         {owned.Memory{}, "s", nil, false},
		"the replaced object":         {owned.Memory{"Service/ml/x": {UID: "s"}}, "s", nil, true},
		"an object without an owner":  {knative, "s", nil, false},
		"of the replaced object":      {knative, "s", route("x", "example.com", "k"), true},
		"of its Route":                {knative, "s", route("x", serving, "r"), true},
		"of another Route":            {knative, "s", route("x-2", serving, "r"), false},
		"of a Route of another group": {knative, "s", route("x", "example.com", "r"), false},
		"of the Route of another kind": {owned.Memory{"Deployment/ml/x": {UID: "k"}}, "s", route("x", serving, "r"),
			false},
		"of an unknown one": {owned.Memory{"Service/ml/x": {}}, "", route("x", serving, ""), false},
	} {
		live := &unstructured.Unstructured{Object: map[string]any{}}
		live.SetNamespace("ml")
		live.SetUID(c.uid)
		if c.owner != nil {
			live.SetOwnerReferences([]metav1.OwnerReference{*c.owner})
		}
		if got := isDeletedWith(c.replaced, live); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
