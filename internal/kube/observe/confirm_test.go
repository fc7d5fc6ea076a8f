package observe

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// namespaced imitates an API server with a StatefulSet, the Secret and the ConfigMap "present" with the key "k", and
// the given response to the creation of a pod.
func namespaced(t *testing.T, create func() (int, any)) *kube.Cluster {
	t.Helper()
	meta := func(kind, version string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: version, Kind: kind} }
	return clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
		name := metav1.ObjectMeta{Namespace: "ml", Name: path[strings.LastIndex(path, "/")+1:]}
		switch {
		case strings.HasSuffix(path, "/statefulsets/trainer"):
			set := appsv1.StatefulSet{TypeMeta: meta("StatefulSet", "apps/v1"), ObjectMeta: name}
			set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
			return http.StatusOK, set
		case strings.HasSuffix(path, "/secrets/present"):
			return http.StatusOK, corev1.Secret{TypeMeta: meta("Secret", "v1"), ObjectMeta: name,
				Data: map[string][]byte{"k": []byte("v")}}
		case strings.HasSuffix(path, "/configmaps/present"):
			return http.StatusOK, corev1.ConfigMap{TypeMeta: meta("ConfigMap", "v1"), ObjectMeta: name,
				BinaryData: map[string][]byte{"k": []byte("v")}}
		case strings.HasSuffix(path, "/denied"):
			return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		case strings.Contains(path, "/pods/"):
			if request.URL.Query().Get("dryRun") != metav1.DryRunAll || verb == "get" {
				t.Errorf("unexpected request: %s %s", verb, request.URL)
			}
			return create()
		}
		return http.StatusNotFound, metav1.Status{TypeMeta: meta("Status", "v1"), Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
			Details: &metav1.StatusDetails{Kind: "secrets", Name: name.Name}}
	}})
}

func TestEventEndsAWaitOnlyIfASecondFactConfirmsIt(t *testing.T) {
	t.Parallel()
	accepted := func() (int, any) {
		return http.StatusCreated, corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	}
	rejected := func() (int, any) {
		return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
	}
	status := func(kind, name, key string) ready.Cause {
		return ready.Cause{Missing: &ready.Ref{Kind: kind, Namespace: "ml", Name: name, Key: key}}
	}
	event := func(kind, name, key string) ready.Cause {
		cause := status(kind, name, key)
		cause.Claimed = true
		return cause
	}
	for name, test := range map[string]struct {
		cause   ready.Cause
		create  func() (int, any)
		refuted bool
	}{
		"a status":                            {ready.Cause{}, accepted, false},
		"an event, and pods are accepted":     {ready.Cause{Claimed: true}, accepted, true},
		"an event, and pods are rejected":     {ready.Cause{Claimed: true}, rejected, false},
		"a missing Secret":                    {status("Secret", "absent", ""), nil, false},
		"a Secret that exists now":            {status("Secret", "present", ""), nil, true},
		"an event of a Secret without access": {event("Secret", "denied", ""), nil, true},
		"a status of a missing key":           {status("Secret", "present", "k"), nil, false},
		"an event of a missing key":           {event("Secret", "present", "x"), nil, false},
		"an event of a key that exists":       {event("Secret", "present", "k"), nil, true},
		"an event of a key of a ConfigMap":    {event("ConfigMap", "present", "k"), nil, true},
		"an event of a key without access":    {event("Secret", "denied", "k"), nil, true},
		"an event of a key of no Secret yet":  {event("Secret", "absent", "k"), nil, false},
		"a ServiceAccount without access":     {event("ServiceAccount", "denied", ""), rejected, false},
		"a ServiceAccount that exists now":    {event("ServiceAccount", "denied", ""), accepted, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, _ := kind.Of(appsv1.SchemeGroupVersion.WithKind("StatefulSet").GroupKind())
			workload := kube.Ref{Kind: set, Namespace: "ml", Name: "trainer"}
			if got := refuted(t.Context(), namespaced(t, test.create), workload, &test.cause); got != test.refuted {
				t.Errorf("refuted: %v, want %v", got, test.refuted)
			}
		})
	}
}

// The ReplicaSet controller keeps the message of its first failure, and tries again later and later.
func TestQuotaThatHasRoomAgainDoesNotEndAWait(t *testing.T) {
	t.Parallel()
	const quota = "exceeded quota: team, requested: pods=1, used: pods=1, limited: pods=1"
	for name, c := range map[string]struct {
		reason          string
		accepted, ready bool
	}{
		"the quota has room again":        {quota, true, true},
		"a shortage":                      {quota, false, false},
		"a policy that exempts this user": {"ValidatingAdmissionPolicy 'p' denied request: no", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dryRuns atomic.Int32
			cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
				if code, body, ok := kubetest.GetsOnly(verb, path, request); ok {
					return code, body
				}
				switch {
				case strings.Contains(path, "/pods/") && dryRuns.Add(1) > 0 && c.accepted:
					return http.StatusCreated, kubetest.RunningPod("trainer-dry-run")
				case path == kubetest.TrainerPath && dryRuns.Load() > 1: // the next attempt of the controller
					return http.StatusOK, kubetest.Deployment("2", 1).Object
				case path == kubetest.TrainerPath:
					return http.StatusOK, refusedBy(c.reason).Object
				}
				return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
			}})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, err := waitReady(ctx, cluster, trainer(), nil)
			if (err == nil) != c.ready || !c.ready && !IsPermanent(err) {
				t.Errorf("the wait ends with %v", err)
			}
		})
	}
}

// refusedBy returns a Deployment with the failure of its ReplicaSet.
func refusedBy(reason string) *unstructured.Unstructured {
	u := kubetest.Deployment("1", 0)
	u.Object["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"name": "c", "image": "i"}}}}}
	u.Object["status"] = map[string]any{"observedGeneration": int64(1), "conditions": []any{map[string]any{
		"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": `pods "trainer-1-a" is ` +
			"forbidden: " + reason,
	}}}
	return u
}
