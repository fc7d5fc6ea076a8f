package kube

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestKindsNeedNoDiscoveryInOneVersionOnly(t *testing.T) {
	t.Parallel()
	for apiVersion, want := range map[string]bool{"apps/v1": true, "apps/v1beta1": false, "example.com/v1": false,
		"": false} {
		found, err := RefOf(object(apiVersion, "Deployment"))
		if (err == nil) != want || (found.Kind.Resource == "deployments") != want {
			t.Errorf("%q: %+v, %v", apiVersion, found, err)
		}
	}
}

// Knative has a kind Service as well, also with the resource services.
func TestServicesOfTwoGroupsAreDistinguished(t *testing.T) {
	t.Parallel()
	knative, known := kind.Of(schema.GroupKind{Group: "serving.knative.dev", Kind: "Service"})
	if !known {
		t.Fatal("the kind of Knative is not known")
	}
	core := Ref{Kind: kind.Service(), Namespace: "ml", Name: "a"}
	scaled := Ref{Kind: knative, Namespace: "ml", Name: "a"}
	cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, _ *http.Request) (int, any) {
		switch {
		case verb == "list" && strings.Contains(path, "knative"):
			return http.StatusOK, namesTable("b")
		case verb == "list":
			return http.StatusOK, namesTable("a")
		case verb == "get" && path == "/api/v1/namespaces/ml/services/a":
			object := core.Kind.Named("ml", "a")
			object.SetUID("u")
			return http.StatusOK, object
		default:
			return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound}
		}
	}})

	for ref, exists := range map[*Ref]bool{&scaled: false, &core: true} {
		if live, err := cluster.Look(t.Context(), *ref); err != nil || (live != nil) != exists {
			t.Errorf("%s: %v, %v; want it to exist: %t", ref.Key(), live, err, exists)
		}
	}

	cluster.absences.Store(scaled.Key(), cluster.API.clock.Now()) // by a dry run
	if live, err := cluster.Look(t.Context(), core); err != nil || live == nil {
		t.Errorf("after a dry run of the other one: %v, %v; want it to exist", live, err)
	}

	cluster.deletions.Store(scaled.Key(), types.UID("u"))
	if got := cluster.DeletionOf(core); got != "" {
		t.Errorf("the deletion of the other one counts, with the UID %s", got)
	}
}
