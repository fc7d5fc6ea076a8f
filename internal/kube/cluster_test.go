package kube

import (
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func clusterOf(t *testing.T, api http.Handler) *Cluster {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return clusterAt(t, server.URL)
}

// clusterAt returns a cluster that does not wait between attempts of a request.
func clusterAt(t *testing.T, host string) *Cluster {
	t.Helper()
	env := config.Env{Getenv: func(string) string { return "" }}
	return NewCluster(t.Context(), config.Config{Host: host, Token: "x", Env: env}).WithClock(&kubetest.Clock{})
}

// serving returns the cluster of a server that responds to a path with an object, or with a failure for a reason. Other
// paths do not exist. Objects cannot be listed.
func serving(t *testing.T, at map[string]any) *Cluster {
	t.Helper()
	codes := map[metav1.StatusReason]int{metav1.StatusReasonForbidden: http.StatusForbidden,
		metav1.StatusReasonInternalError: http.StatusInternalServerError}
	return clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
		if code, body, ok := kubetest.GetsOnly(verb, path, request); ok {
			return code, body
		}
		switch found := at[path].(type) {
		case nil:
			return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound, Details: about("x", "", "x")}
		case metav1.StatusReason:
			return kubetest.Failing(codes[found], found)
		default:
			return http.StatusOK, found
		}
	}})
}

// serves returns a discovery document with one kind.
func serves(of Kind) metav1.APIResourceList {
	return metav1.APIResourceList{GroupVersion: of.GroupVersion().String(),
		APIResources: []metav1.APIResource{{Name: of.Resource, Kind: of.Kind, Namespaced: !of.ClusterScoped}}}
}

func trainer() Ref { return Ref{Kind: kind.Deployment(), Namespace: "ml", Name: "trainer"} }

func TestTextsOfAMisconfiguredClusterStayAsTheyAre(t *testing.T) {
	t.Parallel()
	env := config.Env{Getenv: func(string) string { return "" }}
	cluster := NewCluster(t.Context(), config.Config{ConfigPaths: []string{"/none"}, Env: env})
	if got := cluster.API.Hide("a line"); got != "a line" {
		t.Errorf("%q", got)
	}
}
