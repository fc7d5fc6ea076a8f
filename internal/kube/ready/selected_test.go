package ready

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReadinessOfPodsOfASelector(t *testing.T) {
	t.Parallel()
	up := load(t, "ready").Pods[0]
	starting := load(t, "job-half").Pods[1]
	crashing := load(t, "crash-logs").Pods[0]
	failed, deleted := load(t, "job-failed-pod").Pods[0], up.DeepCopy()
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
	for name, test := range map[string]struct {
		pods   []*corev1.Pod
		ready  bool
		reason string
	}{
		"no pods":                 {nil, false, ReasonPodsMissing},
		"one ready":               {[]*corev1.Pod{up}, true, ""},
		"one ready, one starting": {[]*corev1.Pod{up, starting}, false, ReasonPodsStarting},
		"one crashing":            {[]*corev1.Pod{up, crashing}, false, ReasonCrashLoop},
		"one failed, one ready":   {[]*corev1.Pod{up, failed}, true, ""},
		"only a failed one":       {[]*corev1.Pod{failed}, false, ReasonPodsMissing},
		"only one being deleted":  {[]*corev1.Pod{deleted}, false, ReasonPodsMissing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := AssessPods(Snapshot{Pods: test.pods}, "ml", "app=trainer")
			checkVerdict(t, v)
			reason := ""
			if v.Cause != nil {
				reason = v.Cause.Reason
			}
			if v.Ready != test.ready || reason != test.reason {
				t.Errorf("ready %t, %q (%s); want %t, %q", v.Ready, reason, v.Message, test.ready, test.reason)
			}
		})
	}
}
