package owned

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

const (
	mapPath  = "/api/v1/namespaces/ml/configmaps/"
	mapKey   = "ConfigMap/ml/a"
	somebody = "kubectl"
	// unreadable are managed fields of an unknown format.
	unreadable = `{"bad":{}}`
)

// testRun is one run of the provider against a server.
type testRun struct {
	*kubetest.Server

	*run.Run

	completions *run.Completions
}

// apply applies an object that contains only our fields.
func apply(
	ctx context.Context, r *run.Run, memory Memory, obj *unstructured.Unstructured,
) (*unstructured.Unstructured, diag.Diagnostics, error) {
	return ApplyAs(ctx, r, memory, obj, obj)
}

// newRun starts a server, and a run.
func newRun(t *testing.T) *testRun {
	t.Helper()
	return again(t, kubetest.NewServer(t))
}

// again starts another run against the same server.
func again(t *testing.T, server *kubetest.Server) *testRun {
	t.Helper()
	settings := config.Config{Host: server.URL, Token: "x", Namespace: "ml",
		Env: config.Env{Getenv: func(string) string { return "" }}}
	completions := run.NewCompletions(func() bool { return true })
	cluster := kube.NewCluster(t.Context(), settings).WithClock(&kubetest.Clock{})
	return &testRun{Server: server, Run: run.New(t.Context(), cluster, completions), completions: completions}
}

func (r *testRun) data() *tf.ProviderData { return &tf.ProviderData{Run: r.Run} }

// fails makes the server respond with an error to requests with a verb, for an object with the name; "" for all.
func (r *testRun) fails(verb, name string, code int) {
	r.Intercept = func(requested, path string) kubetest.Fault {
		if requested == verb && strings.HasSuffix(path, name) {
			return kubetest.StatusWith(code, reasonOf(code), "made up")
		}
		return nil
	}
}

func reasonOf(code int) metav1.StatusReason {
	switch code {
	case http.StatusForbidden:
		return metav1.StatusReasonForbidden
	case http.StatusUnprocessableEntity:
		return metav1.StatusReasonInvalid
	default:
		return metav1.StatusReasonInternalError
	}
}

func creation() *Creation { return &Creation{Type: "kt_thing", ID: "ml/x"} }

// configMap returns a ConfigMap with data: pairs of keys and values.
func configMap(name string, data ...string) *unstructured.Unstructured {
	values := map[string]any{}
	for i := 0; i < len(data); i += 2 {
		values[data[i]] = data[i+1]
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": "ml", "name": name}, "data": values}}
}

func refOf(t *testing.T, obj *unstructured.Unstructured) kube.Ref {
	t.Helper()
	ref, err := kube.RefOf(obj)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// unfinishedMark returns the mark of an object whose creation is not in state, or "".
func unfinishedMark(obj *unstructured.Unstructured) string {
	return obj.GetAnnotations()[kube.UnfinishedAnnotation]
}
