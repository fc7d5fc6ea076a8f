package kube

import (
	"encoding/json"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/transport"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestPodIsDeletedOnlyWithItsUID(t *testing.T) {
	t.Parallel()
	ref := Ref{Kind: kind.Pod(), Namespace: "ml", Name: "trainer-0"}
	about := &metav1.StatusDetails{Name: "trainer-0", Kind: "pods"}
	for name, test := range map[string]struct {
		code   int
		reason metav1.StatusReason
		class  Class // Other for none
		sends  int
	}{
		"deleted":  {http.StatusOK, "", Other, 1},
		"missing":  {http.StatusNotFound, metav1.StatusReasonNotFound, Other, 1},
		"replaced": {http.StatusConflict, metav1.StatusReasonConflict, Other, 1},
		// It is final if the server was ready before.
		"without permission": {http.StatusForbidden, metav1.StatusReasonForbidden, Denied, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deletions := 0
			cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
				switch verb {
				case "create":
					return kubetest.Reviewed(request, func(string) bool { return false })
				case "get":
					other := kubetest.RunningPod("trainer-0")
					other.UID = "another"
					return http.StatusOK, other
				}
				deletions++
				var options metav1.DeleteOptions
				if err := json.NewDecoder(request.Body).Decode(&options); err != nil ||
					options.Preconditions == nil || *options.Preconditions.UID != "u" ||
					options.GracePeriodSeconds != nil {
					t.Errorf("%s %s: %+v, %v", verb, path, options, err)
				}
				return test.code, metav1.Status{Reason: test.reason, Details: about}
			}})
			err := cluster.DeleteInBackground(t.Context(), ref, "u")
			if (err == nil) != (test.class == Other) || ClassOf(err) != test.class || deletions != test.sends {
				t.Errorf("after %d deletions: %v", deletions, err)
			}
		})
	}
}

func TestEvictionThatABudgetForbidsNamesThePod(t *testing.T) {
	t.Parallel()
	err := &BudgetError{Pod: "ml/trainer-0", Budget: "trainer needs 2 healthy pods"}
	if got := err.Error(); got != "pod ml/trainer-0 cannot be evicted now: trainer needs 2 healthy pods" {
		t.Error(got)
	}
}

// An eviction is throttled by the server, too, which is no disruption budget.
func TestThrottledEvictionIsNoBudget(t *testing.T) {
	t.Parallel()
	for name, details := range map[string]*metav1.StatusDetails{
		"no details":    nil,
		"another cause": {Causes: []metav1.StatusCause{{Type: "Other", Message: "no"}}},
	} {
		rejection := statusError(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "throttled", details)
		if got := transport.BudgetOf(rejection); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := transport.BudgetOf(statusError(http.StatusConflict, metav1.StatusReasonConflict, "changed",
		&metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "DisruptionBudget", Message: "no"}}})); got != "" {
		t.Errorf("a conflict is the budget %q", got)
	}
}
