package kube

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// schemaOf returns an OpenAPI document with a Compute whose spec has fields.
func schemaOf(fields ...string) map[string]any {
	properties := map[string]any{}
	for _, field := range fields {
		properties[field] = map[string]any{"type": "object"}
	}
	spec := map[string]any{"properties": properties}
	return map[string]any{"components": map[string]any{"schemas": map[string]any{
		"dev.skytorch.compute.v1alpha1.Compute": map[string]any{
			"x-kubernetes-group-version-kind": []any{map[string]any{"group": "compute.skytorch.dev",
				"version": "v1alpha1", "kind": "Compute"}},
			"properties": map[string]any{"spec": spec},
		},
		"another": map[string]any{"properties": map[string]any{}},
	}}}
}

func TestFieldsOfAnInstalledKindAreReadFromItsSchema(t *testing.T) {
	t.Parallel()
	gvk := schema.GroupVersionKind{Group: "compute.skytorch.dev", Version: "v1alpha1", Kind: "Compute"}
	resources := metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "computes", Kind: "Compute",
		Namespaced: true}}}
	for name, c := range map[string]struct {
		code      int
		document  any
		installed bool
		want      bool
		fails     bool
	}{
		"an existing field":     {http.StatusOK, schemaOf("image", "override"), true, true, false},
		"a missing field":       {http.StatusOK, schemaOf("image", "env"), true, false, false},
		"an open schema":        {http.StatusOK, schemaOf(), true, true, false},
		"no schema of the kind": {http.StatusOK, map[string]any{}, true, true, false},
		"a server without schemas": {http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound}, true,
			true, false},
		"no permission to read the schema": {http.StatusForbidden, metav1.Status{Reason: metav1.StatusReasonForbidden},
			true, true, true},
		"a kind that is not installed yet": {http.StatusOK, schemaOf("image"), false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, _ *http.Request) (int, any) {
				switch {
				case path == "/openapi/v3/apis/compute.skytorch.dev/v1alpha1":
					return c.code, c.document
				case c.installed:
					return http.StatusOK, resources
				default:
					return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
				}
			}})
			has, err := cluster.Discovery.HasField(t.Context(), gvk, "spec", "override")
			if has != c.want || (err != nil) != c.fails {
				t.Errorf("%t, %v", has, err)
			}
		})
	}
}
