package queue

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// clusterAt returns the client of a cluster.
func clusterAt(t *testing.T, url string) *kube.Cluster {
	t.Helper()
	settings := config.Config{Host: url, Token: "x", Env: config.Env{Getenv: func(string) string { return "" }}}
	return kube.NewCluster(t.Context(), settings).WithClock(&kubetest.Clock{})
}

// A guessed namespace would be part of the identity, and get a LocalQueue.
func TestQueuesAreListedWithTheNamespacesOfTheirLocalQueues(t *testing.T) {
	t.Parallel()
	object := func(name, namespace string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": name, "namespace": namespace},
			"spec": map[string]any{"clusterQueue": name}}
	}
	for name, c := range map[string]struct {
		denied string // resource
		want   []string
	}{
		"all permissions":  {"", []string{"web/a", "ml/b", "ml/k"}},
		"no LocalQueues":   {"/localqueues", []string{"Denied", "ml/k"}},
		"no ClusterQueues": {"/clusterqueues", []string{"Denied", "ml/k"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(kubetest.API{Answer: func(_, path string, _ *http.Request) (int, any) {
				lists := map[string][]any{"/localqueues": {object("a", "web")},
					"/clusterqueues": {object("a", ""), object("b", "")}, "/queues": {object("k", "")}}
				resource := path[strings.LastIndex(path, "/"):]
				switch {
				case resource == c.denied:
					return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
				case lists[resource] != nil:
					return http.StatusOK, map[string]any{"items": lists[resource]}
				case strings.HasPrefix(path, "/apis/kueue"):
					return http.StatusOK, metav1.APIResourceList{APIResources: []metav1.APIResource{
						{Name: "localqueues", Kind: "LocalQueue"}, {Name: "clusterqueues", Kind: "ClusterQueue"}}}
				}
				return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound}
			}})
			t.Cleanup(server.Close)
			cluster := clusterAt(t, server.URL)
			var got []string
			for item, err := range find(t.Context(), &lifecycle.Query{Cluster: cluster, Namespace: "ml"}) {
				switch {
				case kube.ClassOf(err) == kube.Denied:
					got = append(got, "Denied")
				case err != nil:
					t.Fatal(err)
				default:
					got = append(got, item.Identity.ID().ValueString())
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
