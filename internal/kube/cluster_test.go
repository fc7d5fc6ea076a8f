package kube

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/kubetest"
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

func trainer() Ref { return Ref{Kind: kind.Deployment(), Namespace: "ml", Name: "trainer"} }
