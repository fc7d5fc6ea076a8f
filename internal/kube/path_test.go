package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// A name can be text from an event, or a field that Kubernetes does not validate.
func TestNamesChooseNoPath(t *testing.T) {
	t.Parallel()
	requests := map[string]func(ctx context.Context, c *Cluster, ref Ref) error{
		"exists": func(ctx context.Context, c *Cluster, ref Ref) error {
			if exists, _ := c.API.Exists(ctx, ref); exists {
				return nil
			}
			return errors.New("it does not exist")
		},
		"read": func(ctx context.Context, c *Cluster, ref Ref) error { _, err := c.API.Get(ctx, ref); return err },
		"list": func(ctx context.Context, c *Cluster, ref Ref) error {
			_, _, err := c.Store.list(ctx, ref)
			return err
		},
		"page": func(ctx context.Context, c *Cluster, ref Ref) error {
			return Each(ctx, c.API, ref, metav1.ListOptions{}, func(*corev1.Secret) {})
		},
		"get a Secret": func(ctx context.Context, c *Cluster, ref Ref) error {
			_, err := c.API.Get(ctx, ref)
			return err
		},
		"metadata of a Secret": func(ctx context.Context, c *Cluster, ref Ref) error {
			_, err := c.API.SecretMetadata(ctx, ref)
			return err
		},
		"delete": func(ctx context.Context, c *Cluster, ref Ref) error { return c.Delete(ctx, ref, "u") },
		"last lines of a log": func(ctx context.Context, c *Cluster, ref Ref) error {
			_, err := c.API.Logs(ctx, ref.Namespace, ref.Name, "c", false, 1)
			return err
		},
		"log": func(ctx context.Context, c *Cluster, ref Ref) error {
			stream, err := c.API.StreamLogs(ctx, ref.Namespace, ref.Name, corev1.PodLogOptions{})
			if err == nil {
				_, _ = io.Copy(io.Discard, stream)
			}
			return err
		},
		"discover": func(ctx context.Context, c *Cluster, ref Ref) error {
			_, err := c.Discovery.served(ctx, schema.GroupVersion{Group: ref.Namespace, Version: ref.Name}, "Run")
			return err
		},
	}
	// The requests reach the server with a valid name.
	for what, request := range requests {
		var received atomic.Bool
		cluster := clusterOf(t, kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
			received.Store(true)
			return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
		}})
		_ = request(t.Context(), cluster, Ref{Kind: kind.Secret(), Namespace: "ml", Name: "a"})
		if !received.Load() {
			t.Errorf("%s sends no request", what)
		}
	}
	for _, text := range []string{"..", ".", "a/b", "../../kube-system/services/http:evil:80/proxy/shutdown", "%2e%2e",
		"a%2fb"} {
		for what, request := range requests {
			for where, ref := range map[string]Ref{
				"name":      {Kind: kind.Secret(), Namespace: "ml", Name: text},
				"namespace": {Kind: kind.Secret(), Namespace: text, Name: "a"},
			} {
				if where == "name" && (what == "list" || what == "page") {
					continue // they have none
				}
				t.Run(what+" "+where+" "+text, func(t *testing.T) {
					t.Parallel()
					cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, _ *http.Request) (int, any) {
						t.Errorf("the server receives %s %s", verb, path)
						return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
					}})
					if err := request(t.Context(), cluster, ref); err == nil {
						t.Error("there is no error")
					}
				})
			}
		}
	}
}
