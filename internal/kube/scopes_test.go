package kube

import (
	stdcmp "cmp"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// namespacedAPI serves a Deployment trainer in each namespace, in lists only, and records the paths of the lists.
type namespacedAPI struct {
	namespaces []string
	denied     bool // for all namespaces

	mu    sync.Mutex
	lists map[string]bool
}

func (a *namespacedAPI) answer(verb, path string, _ *http.Request) (int, any) {
	_, rest, namespaced := strings.Cut(path, "/namespaces/")
	namespace, _, _ := strings.Cut(rest, "/")
	switch {
	case verb == "get":
		return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
	case !namespaced && a.denied:
		return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
	case verb == "watch": // the Reflector lists then
		return kubetest.Failing(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	}
	a.mu.Lock()
	a.lists[path] = true
	a.mu.Unlock()
	items := []any{}
	for _, candidate := range a.namespaces {
		if candidate == namespace || !namespaced {
			trainer := stored("trainer", "5")
			trainer.SetNamespace(candidate)
			trainer.SetLabels(map[string]string{"namespace": candidate})
			items = append(items, trainer.Object)
		}
	}
	return http.StatusOK, map[string]any{"apiVersion": "apps/v1", "kind": "DeploymentList",
		"metadata": map[string]any{"resourceVersion": "9"}, "items": items}
}

func TestManyNamespacesShareOneList(t *testing.T) {
	t.Parallel()
	const root = "/apis/apps/v1/"
	own := []string{root + "namespaces/a/deployments", root + "namespaces/b/deployments"}
	for name, test := range map[string]struct {
		denied bool
		want   []string
	}{
		"with permission for all namespaces": {false, append([]string{root + "deployments"}, own...)},
		"without permission for all namespaces": {true,
			append(own, root+"namespaces/c/deployments", root+"namespaces/d/deployments")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &namespacedAPI{namespaces: []string{"a", "b", "c", "d"}, denied: test.denied,
				lists: map[string]bool{}}
			server := httptest.NewServer(kubetest.API{Answer: api.answer})
			defer server.Close()
			cluster := NewCluster(t.Context(), config.Config{Host: server.URL, Namespace: "a"})
			for _, namespace := range api.namespaces {
				ref := Ref{Kind: kind.Deployment(), Namespace: namespace, Name: "trainer"}
				obj, err := cluster.Store.Get(t.Context(), ref)
				if err != nil || obj.GetLabels()["namespace"] != namespace {
					t.Errorf("the object in %s is %v, %v", namespace, obj, err)
				}
				all, err := cluster.Store.List(t.Context(), ref.Kind, namespace, nil)
				if err != nil || len(all) != 1 || all[0].Namespace != namespace {
					t.Errorf("%d objects in %s: %v", len(all), namespace, err)
				}
			}
			api.mu.Lock()
			defer api.mu.Unlock()
			if diff := cmp.Diff(test.want, slices.Sorted(maps.Keys(api.lists))); diff != "" {
				t.Errorf("lists (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyKindsWithTheLabelsOfTheProviderShareAList(t *testing.T) {
	t.Parallel()
	cluster := NewCluster(t.Context(), config.Config{})
	for of, want := range map[*Kind]string{
		new(kind.Deployment()): "a b * *", new(kind.Deployment().All()): "a b c d", new(kind.StorageClass()): "* * * *",
	} {
		var got []string
		for _, namespace := range []string{"a", "b", "c", "d"} {
			got = append(got, stdcmp.Or(cluster.Store.collection(*of, namespace).scope.Namespace, "*"))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s with the labels %q: %s, want %s", of.Kind, of.LabelSelector, text, want)
		}
	}
}

func TestWritesReachTheSharedList(t *testing.T) {
	t.Parallel()
	api := &namespacedAPI{namespaces: []string{"a", "b", "c"}, lists: map[string]bool{}}
	server := httptest.NewServer(kubetest.API{Answer: api.answer})
	defer server.Close()
	cluster := NewCluster(t.Context(), config.Config{Host: server.URL, Namespace: "a"})
	for _, namespace := range api.namespaces {
		if _, err := cluster.Store.List(t.Context(), kind.Deployment(), namespace, nil); err != nil {
			t.Fatal(err)
		}
	}
	ref := Ref{Kind: kind.Deployment(), Namespace: "d", Name: "trainer"}
	written := stored("trainer", "12")
	written.SetNamespace("d")
	cluster.Store.note(ref, written)
	if obj, err := cluster.Store.Get(t.Context(), ref); err != nil || obj.GetResourceVersion() != "12" {
		t.Errorf("the object after its creation is %v, %v", obj, err)
	}
}
