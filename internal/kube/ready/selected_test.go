package ready

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodsThatASelectorFinds(t *testing.T) {
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
		"there are none":                       {nil, false, ReasonPodsMissing},
		"one is ready":                         {[]*corev1.Pod{up}, true, ""},
		"one is ready, one starts":             {[]*corev1.Pod{up, starting}, false, ReasonPodsStarting},
		"one crashes":                          {[]*corev1.Pod{up, crashing}, false, ReasonCrashLoop},
		"one has failed and stands beside one": {[]*corev1.Pod{up, failed}, true, ""},
		"the only one has failed":              {[]*corev1.Pod{failed}, false, ReasonPodsMissing},
		"the only one is being deleted":        {[]*corev1.Pod{deleted}, false, ReasonPodsMissing},
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
