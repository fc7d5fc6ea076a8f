package kube

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestServerErrorsIncludeTheMessageOfTheServer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		strike kubetest.Fault
		class  Class
		says   []string
		not    string
	}{
		"an incomplete response": {kubetest.Truncated(true), Unreachable,
			[]string{"cannot be reached", "the response was incomplete"}, "json"},
		"a broken connection": {kubetest.Truncated(false), Unreachable,
			[]string{"cannot be reached", "the response was incomplete"}, "json"},
		"a gateway without a route": {kubetest.Gateway(404), Unreachable,
			[]string{"cannot be reached", "the address of the API server"}, "install"},
		"a server with internal errors": {kubetest.Status(500, metav1.StatusReasonInternalError), Other,
			[]string{"internal error of the API server", "Run the command again"}, "install"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &flaky{strike: func(int32, *http.Request) kubetest.Fault { return test.strike }}
			ref := Ref{Kind: kind.Service(), Namespace: "ml", Name: "trainer"}
			_, err := clusterOf(t, server).API.Get(t.Context(), ref)
			var failure *Error
			if !errors.As(err, &failure) || failure.Class != test.class {
				t.Fatalf("%v is of class %d, want %d", err, ClassOf(err), test.class)
			}
			summary, detail := explained(failure)
			for _, words := range test.says {
				if !strings.Contains(summary+"\n"+detail, words) {
					t.Errorf("%q is not in\n%s\n%s", words, summary, detail)
				}
			}
			if strings.Contains(strings.ToLower(detail), test.not) {
				t.Errorf("%q is in\n%s", test.not, detail)
			}
		})
	}
}

func TestOutageIsExplainedOncePerRun(t *testing.T) {
	t.Parallel()
	server := &flaky{strike: func(int32, *http.Request) kubetest.Fault { return kubetest.Gateway(502) }}
	cluster := clusterOf(t, server)
	for _, name := range []string{"a", "b", "c"} {
		_, err := cluster.API.Get(t.Context(), Ref{Kind: kind.Service(), Namespace: "ml", Name: name})
		var failure *Error
		if !errors.As(err, &failure) {
			t.Fatal(err)
		}
		if _, detail := explained(failure); !strings.Contains(detail, "kubectl cluster-info") {
			t.Errorf("no next step in %s", detail)
		}
		brief, again := failure.Again()
		if again != (name != "a") || again && !(strings.Contains(brief, "Service ml/"+name) &&
			strings.Contains(brief, "Another error of this run")) {
			t.Errorf("%s: again %t: %s", name, again, brief)
		}
	}
}

// State may contain a version of a kind that the server no longer serves.
func TestKindIsReadAndDeletedInAServedVersion(t *testing.T) {
	t.Parallel()
	const at = "/apis/example.com/v2/namespaces/ml/runs/train"
	var deleted []string
	cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, _ *http.Request) (int, any) {
		run := map[string]any{"apiVersion": "example.com/v2", "kind": "Run",
			"metadata": map[string]any{"namespace": "ml", "name": "train", "uid": "u"}}
		switch {
		case path == "/apis/example.com":
			versions := []metav1.GroupVersionForDiscovery{{Version: "v3"}, {Version: "v2"}}
			return http.StatusOK, metav1.APIGroup{Name: "example.com", Versions: versions,
				PreferredVersion: versions[0]}
		case path == "/apis/example.com/v3":
			return http.StatusOK, metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "fleets",
				Kind: "Fleet"}}}
		case path == "/apis/example.com/v2":
			return http.StatusOK, metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "runs", Kind: "Run",
				Namespaced: true}}}
		case path == at && verb == "delete" && len(deleted) > 0:
			return kubetest.Failing(http.StatusBadRequest, metav1.StatusReasonBadRequest)
		case path == at && verb == "delete":
			deleted = append(deleted, path)
			return http.StatusOK, metav1.Status{Status: metav1.StatusSuccess}
		case path == at:
			return http.StatusOK, run
		}
		return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound, Details: &metav1.StatusDetails{}}
	}})
	old := &unstructured.Unstructured{Object: map[string]any{}}
	old.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Run"})
	old.SetNamespace("ml")
	old.SetName("train")
	if _, err := cluster.Discovery.RefOf(t.Context(), old); ClassOf(err) != KindMissing {
		t.Errorf("an apply must not change the version: %v", err)
	}
	ref, err := cluster.Discovery.LiveRef(t.Context(), old)
	if err != nil || ref.Kind.Version != "v2" || ref.Kind.Resource != "runs" {
		t.Fatalf("%+v, %v", ref, err)
	}
	ref.Kind.Version = "v1" // as a kind that needs no discovery names it
	if live, err := cluster.Store.Get(t.Context(), ref); err != nil || live.GetAPIVersion() != "example.com/v2" {
		t.Errorf("read %v, %v", live, err)
	}
	if err := cluster.Delete(t.Context(), ref, "u"); err != nil || len(deleted) != 1 {
		t.Errorf("deleted %v, %v", deleted, err)
	}
	if err := cluster.Delete(t.Context(), ref, "u"); ClassOf(err) != Invalid {
		t.Errorf("the second deletion: %v", err)
	}
}

func TestOutageWithoutRequestsDoesNotCountTowardTheNext(t *testing.T) {
	t.Parallel()
	var until atomic.Int32
	until.Store(1 << 30)
	server := &flaky{strike: func(n int32, _ *http.Request) kubetest.Fault {
		if n > 1 && n <= until.Load() {
			return kubetest.Gateway(503)
		}
		return nil
	}}
	cluster := clusterOf(t, server)
	if _, err := cluster.API.Get(t.Context(), trainer()); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.API.Get(t.Context(), trainer()); ClassOf(err) != Unreachable {
		t.Fatalf("during the outage: %v", err)
	}
	cluster.API.clock.(*kubetest.Clock).Skip(5 * time.Minute)
	until.Store(server.requests.Load() + 2)
	if _, err := cluster.API.Get(t.Context(), trainer()); err != nil {
		t.Errorf("minutes later, after %d requests: %v", server.requests.Load(), err)
	}
}
