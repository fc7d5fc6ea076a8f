package kube

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestForbiddenAfterALostResponseLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"apply", "apply a Secret", "delete"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			server := &flaky{strike: func(n int32, _ *http.Request) kubetest.Fault {
				if n == 1 {
					return kubetest.HangUp(true, true)
				}
				return kubetest.Status(http.StatusForbidden, metav1.StatusReasonForbidden)
			}}
			if err := verbs()[verb](t.Context(), clusterOf(t, server)); !OutcomeUnknown(err) {
				t.Errorf("%v does not say that the outcome is unknown", err)
			}
		})
	}
}

func TestForbiddenIsRetriedOnlyWhileTheServerStarts(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]bool{"after an outage": true, "without an outage": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &flaky{strike: func(n int32, _ *http.Request) kubetest.Fault {
				switch {
				case n == 2 && outage:
					return kubetest.Gateway(http.StatusServiceUnavailable)
				case n == 2, n == 3, n == 4:
					return kubetest.Status(http.StatusForbidden, metav1.StatusReasonForbidden)
				default:
					return nil
				}
			}}
			cluster := clusterOf(t, server)
			if err := verbs()["get"](t.Context(), cluster); err != nil {
				t.Fatal(err)
			}
			if err := verbs()["get"](t.Context(), cluster); (err == nil) != outage {
				t.Errorf("after %d requests: %v", server.requests.Load(), err)
			}
		})
	}
}
