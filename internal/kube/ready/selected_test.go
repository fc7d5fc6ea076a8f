package ready

import (
	"strings"
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
		text   string // in the error
	}{
		"no pods":   {nil, false, ReasonPodsMissing, "kubectl -n ml get pods --show-labels"},
		"one ready": {[]*corev1.Pod{up}, true, "", ""},
		"one starting": {[]*corev1.Pod{starting}, false, ReasonPodsStarting,
			"Cause: The pods with the labels app=trainer are not all ready: 0 of 1 pods ready: 1 starting. No " +
				"permanent failure was detected.\n\nObject: Pods ml/app=trainer\nInvestigate with:\n" +
				"  kubectl -n ml get pods -l app=trainer"},
		"one ready, one starting": {[]*corev1.Pod{up, starting}, false, ReasonPodsStarting, "1 of 2 pods ready"},
		"one crashing":            {[]*corev1.Pod{up, crashing}, false, ReasonCrashLoop, "crashes repeatedly"},
		"one failed, one ready":   {[]*corev1.Pod{up, failed}, true, "", ""},
		"only a failed one":       {[]*corev1.Pod{failed}, false, ReasonPodsMissing, "No running pod"},
		"only one being deleted":  {[]*corev1.Pod{deleted}, false, ReasonPodsMissing, "No running pod"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := AssessPods(Snapshot{Pods: test.pods}, "ml", "app=trainer")
			checkVerdict(t, v)
			reason := ""
			if v.Cause != nil {
				reason = v.Cause.Reason
			}
			if text := Explain(v.Cause, nil); !strings.Contains(text, test.text) {
				t.Errorf("%q is not in:\n%s", test.text, text)
			}
			if v.Ready != test.ready || reason != test.reason {
				t.Errorf("ready %t, %q (%s); want %t, %q", v.Ready, reason, v.Message, test.ready, test.reason)
			}
		})
	}
}
