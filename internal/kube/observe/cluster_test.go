package observe

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func clusterOf(t *testing.T, api http.Handler) *kube.Cluster {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return clusterAt(t, config.Config{Host: server.URL})
}

func trainer() kube.Ref { return kube.Ref{Kind: kind.Deployment(), Namespace: "ml", Name: "trainer"} }

// clusterAt returns a cluster that does not wait between attempts of a request.
func clusterAt(t *testing.T, settings config.Config) *kube.Cluster {
	t.Helper()
	settings.Token, settings.Env = "x", config.Env{Getenv: func(string) string { return "" }}
	return kube.NewCluster(t.Context(), settings).WithClock(&kubetest.Clock{})
}

// row returns a kind of the table.
func row(group, name string) kube.Kind {
	found, _ := kind.Of(schema.GroupKind{Group: group, Kind: name})
	return found
}
