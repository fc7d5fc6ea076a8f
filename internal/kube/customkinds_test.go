package kube

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

func TestCustomKindsAreReadableNamespacedKindsOfOtherProjects(t *testing.T) {
	t.Parallel()
	group := func(name, version string) metav1.APIGroup {
		return metav1.APIGroup{Name: name, PreferredVersion: metav1.GroupVersionForDiscovery{Version: version}}
	}
	resources := func(all ...metav1.APIResource) metav1.APIResourceList {
		return metav1.APIResourceList{APIResources: all}
	}
	readable := metav1.Verbs{"list", "get"}
	at := map[string]any{
		"/apis/": metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"},
			Groups: []metav1.APIGroup{group("example.com", "v2"), group("apps", "v1"), group("down.example.com", "v1"),
				group("storage.k8s.io", "v1"), group("jobset.x-k8s.io", "v1alpha2")}},
		"/apis/example.com/v2": resources(
			metav1.APIResource{Name: "runs", Kind: "Run", Namespaced: true, Verbs: readable},
			metav1.APIResource{Name: "runs/status", Kind: "Run", Namespaced: true, Verbs: readable},
			metav1.APIResource{Name: "fleets", Kind: "Fleet", Verbs: readable},
			metav1.APIResource{Name: "reviews", Kind: "Review", Namespaced: true, Verbs: metav1.Verbs{"create"}}),
		"/apis/example.com/v1": resources(
			metav1.APIResource{Name: "walks", Kind: "Walk", Namespaced: true, Verbs: readable}),
		"/apis/apps/v1": resources(
			metav1.APIResource{Name: "deployments", Kind: "Deployment", Namespaced: true, Verbs: readable}),
		"/apis/storage.k8s.io/v1": resources(
			metav1.APIResource{Name: "capacities", Kind: "Capacity", Namespaced: true, Verbs: readable}),
		"/apis/jobset.x-k8s.io/v1alpha2": resources(
			metav1.APIResource{Name: "jobsets", Kind: "JobSet", Namespaced: true, Verbs: readable}),
		"/apis/down.example.com/v1": metav1.StatusReasonInternalError,
	}
	kinds, err := serving(t, at).Discovery.CustomKinds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range kinds {
		got = append(got, k.GroupVersion().String()+" "+k.Kind+" "+k.Resource)
		if k.LabelSelector != kind.Ours {
			t.Errorf("the selector of %s is %q", k.Kind, k.LabelSelector)
		}
	}
	want := "jobset.x-k8s.io/v1alpha2 JobSet jobsets, example.com/v2 Run runs"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

func TestCustomKindsAreUnknownWithoutTheListOfGroups(t *testing.T) {
	t.Parallel()
	failing := serving(t, map[string]any{"/apis/": metav1.StatusReasonInternalError})
	kinds, err := failing.Discovery.CustomKinds(t.Context())
	if len(kinds) > 0 || err == nil {
		t.Errorf("%v, %v", kinds, err)
	}
}
