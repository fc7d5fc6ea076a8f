package kube

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestDeletionOptions(t *testing.T) {
	t.Parallel()
	tensor, short := row(kind.SkyTorchGroup, "Compute"), kind.Deployment()
	short.Grace = 1
	for name, test := range map[string]struct {
		kind  Kind
		uid   types.UID
		grace *int64
	}{
		"by UID":          {kind.Deployment(), "u", nil},
		"by name":         {kind.Deployment(), "", nil},
		"a short grace":   {short, "u", new(int64(1))},
		"a tensor server": {tensor, "u", new(int64(30))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var options metav1.DeleteOptions
			cluster := clusterOf(t, kubetest.API{Answer: func(_, _ string, request *http.Request) (int, any) {
				if err := json.NewDecoder(request.Body).Decode(&options); err != nil {
					t.Error(err)
				}
				return http.StatusOK, metav1.Status{Status: metav1.StatusSuccess}
			}})
			ref := Ref{Kind: test.kind, Namespace: "ml", Name: "trainer"}
			if err := cluster.Delete(t.Context(), ref, test.uid); err != nil {
				t.Fatal(err)
			}
			var uid types.UID
			if options.Preconditions != nil {
				uid = *options.Preconditions.UID
			}
			if *options.PropagationPolicy != metav1.DeletePropagationForeground || uid != test.uid ||
				!ptr.Equal(options.GracePeriodSeconds, test.grace) {
				t.Errorf("the options are %+v", options)
			}
			if got := cluster.DeletionOf(ref); got != test.uid {
				t.Errorf("the deletion is that of %q", got)
			}
		})
	}
}

// A controller may change the object all the time.
func TestDeletionIsRepeatedWhileItConflicts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		conflicts int
		uid       types.UID // of the object that exists; "" for one without permission to read
		reads     metav1.StatusReason
		deletions int
		class     Class // of the error, Other for none
	}{
		"a conflict":         {conflicts: 1, uid: "u", deletions: 2},
		"only conflicts":     {conflicts: 100, uid: "u", deletions: 12, class: Conflict},
		"another object":     {conflicts: 100, uid: "v", deletions: 1},
		"a deleted object":   {conflicts: 100, reads: metav1.StatusReasonNotFound, deletions: 1},
		"without permission": {conflicts: 2, reads: metav1.StatusReasonForbidden, deletions: 3},
		"a failed read":      {conflicts: 100, reads: metav1.StatusReasonBadRequest, deletions: 1, class: Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deletions := 0
			codes := map[metav1.StatusReason]int{
				metav1.StatusReasonNotFound: http.StatusNotFound, metav1.StatusReasonForbidden: http.StatusForbidden,
				metav1.StatusReasonBadRequest: http.StatusBadRequest,
			}
			cluster := clusterOf(t, kubetest.API{Answer: func(verb, _ string, _ *http.Request) (int, any) {
				if verb == "delete" {
					if deletions++; deletions > test.conflicts {
						return http.StatusOK, metav1.Status{Status: metav1.StatusSuccess}
					}
					return kubetest.Failing(http.StatusConflict, metav1.StatusReasonConflict)
				}
				if test.reads != "" {
					return codes[test.reads], metav1.Status{Reason: test.reads,
						Details: about("deployments", "apps", "trainer")}
				}
				live := kubetest.Deployment("1", 1)
				live.SetUID(test.uid)
				return http.StatusOK, live
			}})
			err := cluster.Delete(t.Context(), trainer(), "u")
			if deletions != test.deletions || ClassOf(err) != test.class || (err == nil) != (test.class == Other) {
				t.Errorf("%d deletions, want %d; %v", deletions, test.deletions, err)
			}
		})
	}
}

func TestRepeatedDeletionTimesOut(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	deletions := 0
	cluster := clusterOf(t, kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
		deletions++
		cancel()
		return kubetest.Failing(http.StatusConflict, metav1.StatusReasonConflict)
	}})
	cluster.API.clock = stopped{cluster.API.clock}
	err := cluster.Delete(ctx, trainer(), "")
	if ClassOf(err) != Conflict || deletions != 1 {
		t.Errorf("%d deletions, %v", deletions, err)
	}
}

func TestObjectOfOthersIsMissingOnlyIfTheServerSaysSo(t *testing.T) {
	t.Parallel()
	account := Ref{Kind: kind.ServiceAccount(), Namespace: "ml", Name: "runner"}
	const path = "/api/v1/namespaces/ml/serviceaccounts/runner"
	for name, test := range map[string]struct {
		response any
		want     bool
	}{
		"it exists":          {map[string]any{"kind": "ServiceAccount", "apiVersion": "v1"}, true},
		"it is missing":      {nil, false},
		"without permission": {metav1.StatusReasonForbidden, true},
	} {
		cluster := serving(t, map[string]any{path: test.response})
		if got := cluster.MayExist(t.Context(), account); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

// stopped is a clock on which no time passes.
type stopped struct{ clock.WithDelayedExecution }

func (stopped) After(time.Duration) <-chan time.Time { return nil }
