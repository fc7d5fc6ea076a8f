package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestGracePeriodOfACause(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	pull := &ready.Cause{Reason: "ImagePullFailed", Subject: "image a", Object: "Pod ml/a", Terminal: true,
		Grace: 40 * time.Second}
	samePull := &ready.Cause{Reason: "ImagePullFailed", Subject: "image a", Object: "Pod ml/b", Terminal: true,
		Grace: 40 * time.Second}
	otherPull := &ready.Cause{Reason: "ImagePullFailed", Subject: "image b", Object: "Pod ml/a", Terminal: true,
		Grace: 40 * time.Second}
	queued := &ready.Cause{Reason: "Queued", Subject: "kueue"}
	crash := &ready.Cause{Reason: "CrashLoop", Subject: "container a", Terminal: true}
	type check struct {
		after    time.Duration
		cause    *ready.Cause
		left     time.Duration
		terminal bool
	}
	for name, checks := range map[string][]check{
		"no cause": {{0, nil, 0, false}},
		"starts at the first observation": {{0, pull, 40 * time.Second, true},
			{30 * time.Second, pull, 10 * time.Second, true}, {40 * time.Second, pull, 0, true}},
		"continues for another pod with the same cause": {{0, pull, 40 * time.Second, true},
			{30 * time.Second, samePull, 10 * time.Second, true}},
		"restarts for another cause": {{0, pull, 40 * time.Second, true},
			{30 * time.Second, otherPull, 40 * time.Second, true}},
		"restarts after an interruption": {{0, pull, 40 * time.Second, true}, {30 * time.Second, nil, 0, false},
			{31 * time.Second, pull, 40 * time.Second, true}},
		"restarts for an earlier cause": {{0, pull, 40 * time.Second, true},
			{time.Second, otherPull, 40 * time.Second, true}, {30 * time.Second, pull, 40 * time.Second, true}},
		"ends immediately for a permanent cause": {{0, crash, 0, true}},
		"a temporary cause never ends a wait":    {{0, queued, 0, false}, {time.Hour, queued, -time.Hour, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen firstSeen
			for _, check := range checks {
				left, terminal := seen.left(check.cause, start.Add(check.after))
				if left != check.left || terminal != check.terminal {
					t.Errorf("after %v: %v left, terminal %v; want %v, %v", check.after, left, terminal, check.left,
						check.terminal)
				}
			}
		})
	}
}

func TestOnlyErrorsThatAWaitCannotResolveArePermanent(t *testing.T) {
	t.Parallel()
	crash := ready.Verdict{Cause: &ready.Cause{Reason: "CrashLoop", Terminal: true}}
	queued := ready.Verdict{Cause: &ready.Cause{Reason: "Queued"}}
	outage := &kube.Error{Class: kube.Unreachable, Err: errors.New("connection refused")}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"no error":                          {nil, false},
		"a terminal cause":                  {&NotReadyError{Verdict: crash}, true},
		"a cause within its grace period":   {&NotReadyError{Verdict: crash, Err: context.DeadlineExceeded}, false},
		"a queue, timed out":                {&NotReadyError{Verdict: queued, Err: context.DeadlineExceeded}, false},
		"an interruption":                   {&NotReadyError{Verdict: queued, Err: context.Canceled}, false},
		"an interruption without a verdict": {context.Canceled, false},
		"an outage":                         {outage, false},
		"an outage beyond the limit":        {&UnobservedError{Ref: trainer(), Last: queued, Err: outage}, false},
		"expired credentials":               {&kube.Error{Class: kube.Unauthorized, Err: errors.New("expired")}, false},
		"revoked permissions":               {&kube.Error{Class: kube.Denied, Err: errors.New("forbidden")}, false},
		"a deleted object":                  {&kube.Error{Class: kube.NotFound, Err: errors.New("not found")}, true},
		"anything else":                     {errors.New("unknown"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := IsPermanent(test.err); got != test.want {
				t.Errorf("permanent: %t, want %t", got, test.want)
			}
			if test.err != nil && IsPermanent(fmt.Errorf("wrapped: %w", test.err)) != test.want {
				t.Error("a wrapped error has another result")
			}
		})
	}
}

func TestWaitUsesGetWithoutPermissionToListOrWatch(t *testing.T) {
	t.Parallel()
	cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
		if code, body, ok := kubetest.GetsOnly(verb, path, request); ok {
			return code, body
		}
		if verb == "patch" {
			return http.StatusOK, kubetest.Deployment("1", 0).Object
		}
		return http.StatusOK, kubetest.Deployment("2", 1).Object
	}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := cluster.Store.Get(ctx, trainer()); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Apply(ctx, kubetest.Deployment("", 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := waitReady(ctx, cluster, trainer(), nil); err != nil {
		t.Errorf("the collection was used without a watch: %v", err)
	}
}

func TestWaitToleratesAnOutage(t *testing.T) {
	t.Parallel()
	var gets atomic.Int32
	cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
		if code, body, ok := kubetest.GetsOnly(verb, path, request); ok {
			return code, body
		}
		if gets.Add(1) == 1 {
			return kubetest.Failing(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
		}
		return http.StatusOK, kubetest.Deployment("2", 1).Object
	}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := waitReady(ctx, cluster, trainer(), nil); err != nil || gets.Load() < 2 {
		t.Errorf("after %d gets: %v", gets.Load(), err)
	}
}

func TestWaitEndsWhenCredentialsExpire(t *testing.T) {
	t.Parallel()
	cluster := clusterOf(t, kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
		return kubetest.Failing(http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
	}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := waitReady(ctx, cluster, trainer(), nil); kube.ClassOf(err) != kube.Unauthorized {
		t.Errorf("%v, want Unauthorized", err)
	}
}

func TestInterruptedWaitReportsTheLastObservation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pod := map[string]any{
		"metadata": map[string]any{"namespace": "ml", "name": "trainer-1-a", "resourceVersion": "1",
			"labels": map[string]any{"pod-template-hash": "1"},
			"ownerReferences": []any{map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "trainer-1",
				"controller": true}}},
		"spec": map[string]any{"volumes": []any{map[string]any{"name": "w",
			"persistentVolumeClaim": map[string]any{"claimName": "weights"}}}},
		"status": map[string]any{"phase": "Pending", "conditions": []any{
			map[string]any{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
				"message": "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."},
		}},
	}
	var claims atomic.Int32
	cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
		switch {
		case path == "/api/v1/namespaces/ml/pods" && verb == "list":
			return http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "PodList",
				"metadata": map[string]any{"resourceVersion": "1"}, "items": []any{pod}}
		case path == "/api/v1/namespaces/ml/pods" && request.URL.Query().Get("sendInitialEvents") != "":
			// as a server that cannot
			return kubetest.Failing(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
		case path == "/api/v1/namespaces/ml/pods":
			<-request.Context().Done()
			return http.StatusOK, nil
		case path == kubetest.TrainerPath:
			return http.StatusOK, kubetest.Deployment("1", 0).Object
		case path == kubetest.ClaimPath:
			if claims.Add(1) > 1 {
				cancel()
				return kubetest.Failing(http.StatusInternalServerError, metav1.StatusReasonInternalError)
			}
			return http.StatusOK, map[string]any{
				"apiVersion": "v1", "kind": "PersistentVolumeClaim",
				"metadata": map[string]any{"namespace": "ml", "name": "weights"},
				"spec":     map[string]any{"storageClassName": "fast"}, "status": map[string]any{"phase": "Pending"},
			}
		}
		if code, body, ok := kubetest.GetsOnly(verb, path, request); ok {
			return code, body
		}
		return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
	}})
	_, err := waitReady(ctx, cluster, trainer(), map[string]string{"pod-template-hash": "1"})
	var failure *NotReadyError
	if !errors.As(err, &failure) || failure.Verdict.Cause == nil {
		t.Fatalf("no cause: %v", err)
	}
	if got := failure.Verdict.Cause.Reason; got != ready.ReasonVolumeNotBound {
		t.Errorf("%s: %s", got, failure.Verdict.Cause.Summary)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v does not contain the interrupt", err)
	}
}

// A failed Job may be deleted within the grace period of its cause, and be there for a while with a deletionTimestamp.
// A Job that has met its criteria of success may be deleted before it is observed as complete.
func TestResultOfADeletedJobIsReported(t *testing.T) {
	t.Parallel()
	failed := ready.Verdict{Cause: &ready.Cause{Reason: ready.ReasonFailed, Terminal: true, Grace: time.Hour}}
	running := ready.Verdict{Cause: &ready.Cause{Reason: ready.ReasonQueued}}
	job := kube.Ref{Kind: kind.Job(), Namespace: "ml", Name: "trainer"}
	const met = "SuccessCriteriaMet"
	for name, test := range map[string]struct {
		of        kube.Ref
		before    ready.Verdict
		condition string // before it is gone
		want      bool   // the cause instead of the missing object
	}{
		"a Job that failed": {job, failed, "Failed", true}, "a Job that runs": {job, running, "", false},
		"a Deployment": {trainer(), failed, "Failed", false}, "a Job that succeeds": {job, running, met, false},
	} {
		cluster := clusterOf(t, kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
			return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		}})
		checks := 0
		observe := func() (ready.Verdict, []Interest, error) {
			checks++
			// It is checked again at once.
			concerned := []Interest{labelled(map[string]string{"check": strconv.Itoa(checks)})}
			switch {
			case checks == 1:
				return test.before, concerned, nil
			case checks == 2:
				return ready.Assess(ready.Snapshot{Workload: deleting(test.of, test.condition)}), concerned, nil
			}
			return ready.Verdict{}, nil, &kube.Error{Class: kube.NotFound, Err: errors.New("not found")}
		}
		never := func(ready.Verdict) bool { return false }
		verdict, err := waitFor(t.Context(), cluster, test.of, func(kube.Ref) bool { return false }, never, observe)
		if test.condition == met && verdict.Complete && err == nil {
			continue
		}
		failure, reported := errors.AsType[*NotReadyError](err)
		if test.condition == met || reported != test.want || !IsPermanent(err) ||
			reported && failure.Verdict.Cause.Reason != ready.ReasonFailed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// deleting returns a workload that is being deleted, with a condition.
func deleting(ref kube.Ref, condition string) *unstructured.Unstructured {
	u := ref.Kind.Named(ref.Namespace, ref.Name)
	u.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True"}}}
	return u
}

func TestMissingObjectIsReadAgainBeforeTheWaitEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		missing *ready.Ref
		path    string // of the request
		code    int
		reason  metav1.StatusReason
		want    bool
	}{
		"no missing object": {},
		"a created Secret": {&ready.Ref{Kind: "Secret", Namespace: "ml", Name: "hf"},
			"/api/v1/namespaces/ml/secrets/hf", 200, "", true},
		"a missing Secret": {&ready.Ref{Kind: "Secret", Namespace: "ml", Name: "hf"},
			"/api/v1/namespaces/ml/secrets/hf", 404, metav1.StatusReasonNotFound, false},
		"no permission to read the Secret": {&ready.Ref{Kind: "Secret", Namespace: "ml", Name: "hf"},
			"/api/v1/namespaces/ml/secrets/hf", 403, metav1.StatusReasonForbidden, false},
		"a missing key": {&ready.Ref{Kind: "Secret", Namespace: "ml", Name: "hf", Key: "TOKEN"}, "", 0, "", false},
		"a created ConfigMap": {&ready.Ref{Kind: "ConfigMap", Namespace: "ml", Name: "c"},
			"/api/v1/namespaces/ml/configmaps/c", 200, "", true},
		"a service account": {&ready.Ref{Kind: "ServiceAccount", Namespace: "ml", Name: "a"},
			"/api/v1/namespaces/ml/serviceaccounts/a", 200, "", true},
		"a created claim": {&ready.Ref{Kind: "PersistentVolumeClaim", Namespace: "ml", Name: "w"},
			"/api/v1/namespaces/ml/persistentvolumeclaims/w", 200, "", true},
		"a created storage class": {&ready.Ref{Kind: "StorageClass", Name: "fast"},
			"/apis/storage.k8s.io/v1/storageclasses/fast", 200, "", true},
		"an unavailable API server": {&ready.Ref{Kind: "Secret", Namespace: "ml", Name: "hf"},
			"/api/v1/namespaces/ml/secrets/hf", 503, metav1.StatusReasonServiceUnavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked string
			cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, request *http.Request) (int, any) {
				asked = path
				if accept := request.Header.Get("Accept"); !strings.Contains(accept, "as=PartialObjectMetadata") {
					t.Errorf("values were requested: Accept %q", accept)
				}
				if test.code != http.StatusOK {
					return kubetest.Failing(test.code, test.reason)
				}
				return http.StatusOK, map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"}
			}})
			cause := &ready.Cause{Missing: test.missing}
			if got := refuted(t.Context(), cluster, trainer(), cause); got != test.want {
				t.Errorf("refuted: %v, want %v", got, test.want)
			}
			if asked != test.path {
				t.Errorf("requested %q, want %q", asked, test.path)
			}
		})
	}
}

func TestAutoscalerIsRecognized(t *testing.T) {
	t.Parallel()
	const status, karpenter = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status",
		"/apis/karpenter.sh"
	for name, test := range map[string]struct {
		codes map[string]int // by path; 404 if absent
		want  bool

		configured *bool
	}{
		"none":                   {codes: nil, want: false},
		"the cluster autoscaler": {codes: map[string]int{status: http.StatusOK}, want: true},
		"Karpenter":              {codes: map[string]int{karpenter: http.StatusOK}, want: true},
		"no permission to read":  {codes: map[string]int{status: http.StatusForbidden}, want: true},
		"an outage": {codes: map[string]int{status: http.StatusServiceUnavailable,
			karpenter: http.StatusServiceUnavailable}, want: true},
		"configured as true":  {configured: new(true), want: true},
		"configured as false": {codes: map[string]int{status: http.StatusOK}, configured: new(false), want: false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(kubetest.API{Answer: func(_, path string, request *http.Request) (int, any) {
				if strings.HasSuffix(path, "/selfsubjectaccessreviews") {
					return kubetest.Reviewed(request, func(string) bool { return false })
				}
				switch test.codes[path] {
				case http.StatusOK:
					if path == karpenter {
						return http.StatusOK,
							metav1.APIGroup{PreferredVersion: metav1.GroupVersionForDiscovery{Version: "v1"}}
					}
					return http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}
				case http.StatusForbidden:
					return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
				case http.StatusServiceUnavailable:
					return kubetest.Failing(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
				}
				return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound,
					Details: &metav1.StatusDetails{Kind: "configmaps", Group: "", Name: "x"}}
			}})
			t.Cleanup(server.Close)
			cluster := clusterAt(t, config.Config{Host: server.URL, NodeAutoscaling: test.configured})
			if got := Autoscaled(t.Context(), cluster); got != test.want {
				t.Errorf("autoscaled: %v, want %v", got, test.want)
			}
		})
	}
}

// A failure does not show that there is none, and a later request may succeed.
func TestUnknownAutoscalerIsNotKept(t *testing.T) {
	t.Parallel()
	var recovered atomic.Bool
	server := httptest.NewServer(kubetest.API{Answer: func(_, _ string, _ *http.Request) (int, any) {
		if !recovered.Load() {
			return kubetest.Failing(http.StatusInternalServerError, metav1.StatusReasonInternalError)
		}
		return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound,
			Details: &metav1.StatusDetails{Kind: "configmaps", Name: "x"}}
	}})
	t.Cleanup(server.Close)
	cluster := clusterAt(t, config.Config{Host: server.URL})
	if !Autoscaled(t.Context(), cluster) {
		t.Error("a failed request shows that no nodes are added")
	}
	recovered.Store(true)
	if Autoscaled(t.Context(), cluster) {
		t.Error("the failure is remembered")
	}
}

func waitReady(
	ctx context.Context, c *kube.Cluster, ref kube.Ref, podLabels map[string]string,
) (ready.Verdict, error) {
	return Follow{Workload: &ref, Namespace: ref.Namespace, PodLabels: podLabels}.Wait(ctx, c)
}
