package kube

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// flaky is an API server with one Deployment, one Secret and one claim. strike
// returns the fault of a request, if any.
type flaky struct {
	strike func(n int32, request *http.Request) kubetest.Fault

	requests, carriedOut atomic.Int32
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	request.Body = io.NopCloser(bytes.NewReader(body))
	execute := func() *httptest.ResponseRecorder {
		f.carriedOut.Add(1)
		answer := httptest.NewRecorder()
		kubetest.API{Answer: f.answer}.ServeHTTP(answer, request)
		return answer
	}
	if strike := f.strike(f.requests.Add(1), request); strike != nil {
		strike(w, execute)
		return
	}
	answer := execute()
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (f *flaky) answer(verb, path string, _ *http.Request) (int, any) {
	switch {
	case verb == "list":
		return http.StatusOK, map[string]any{"apiVersion": "apps/v1", "kind": "DeploymentList",
			"metadata": map[string]any{"resourceVersion": "3"}, "items": []any{kubetest.Deployment("2", 1).Object}}
	case strings.Contains(path, "/secrets/"):
		return http.StatusOK, aSecret().Object
	case strings.HasPrefix(path, "/apis/example.com/v1"):
		return http.StatusOK, metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "runs", Kind: "Run",
			Namespaced: true}}}
	case verb == "delete":
		return http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status: metav1.StatusSuccess}
	default:
		return http.StatusOK, kubetest.Deployment("2", 1).Object
	}
}

func aSecret() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "ml", "name": "token", "uid": "u",
			"resourceVersion": "2"},
	}}
}

// verbs returns all types of requests of the provider.
func verbs() map[string]func(context.Context, *Cluster) error {
	secret := SecretRef("ml", "token")
	return map[string]func(context.Context, *Cluster) error{
		"get":  func(ctx context.Context, c *Cluster) error { _, err := c.API.Get(ctx, trainer()); return err },
		"list": func(ctx context.Context, c *Cluster) error { _, _, err := c.Store.list(ctx, trainer()); return err },
		"apply": func(ctx context.Context, c *Cluster) error {
			_, err := c.Apply(ctx, kubetest.Deployment("", 0))
			return err
		},
		"dry run": func(ctx context.Context, c *Cluster) error {
			_, err := c.DryRun(ctx, kubetest.Deployment("", 0))
			return err
		},
		"delete": func(ctx context.Context, c *Cluster) error { return c.Delete(ctx, trainer(), "u") },
		"patch": func(ctx context.Context, c *Cluster) error {
			return c.API.patchJSON(ctx, trainer(), []patchOp{{Op: "replace", Path: "/metadata/resourceVersion",
				Value: "2"}}, false)
		},
		"get a Secret": func(ctx context.Context, c *Cluster) error { _, err := c.API.Get(ctx, secret); return err },
		"apply a Secret": func(ctx context.Context, c *Cluster) error {
			_, err := c.Apply(ctx, aSecret())
			return err
		},
		"dry run of a Secret": func(ctx context.Context, c *Cluster) error {
			_, err := c.DryRun(ctx, aSecret())
			return err
		},
		"remove keys of a Secret": func(ctx context.Context, c *Cluster) error {
			_, err := c.RemoveSecretKeys(ctx, aSecret(), []string{"a"})
			return err
		},
		"discover": func(ctx context.Context, c *Cluster) error {
			_, err := c.Discovery.served(ctx, schema.GroupVersion{Group: "example.com", Version: "v1"}, "Run")
			return Wrap("look up", Ref{}, err)
		},
		"read": func(ctx context.Context, c *Cluster) error { _, err := c.Store.Get(ctx, trainer()); return err },
	}
}
