package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

func pod(uid types.UID, ready corev1.ConditionStatus, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}, Status: corev1.PodStatus{Phase: phase,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}}
}

func TestReplacedCountCountsOnlyNewPods(t *testing.T) {
	t.Parallel()
	running := func(uid types.UID) *corev1.Pod { return pod(uid, corev1.ConditionTrue, corev1.PodRunning) }
	for name, c := range map[string]struct {
		pods       []*corev1.Pod
		done, left int
	}{
		"not evicted yet":                 {[]*corev1.Pod{running("old"), running("other")}, 0, 1},
		"the other pod is no replacement": {[]*corev1.Pod{running("other")}, 0, 0},
		"a pending replacement": {[]*corev1.Pod{running("other"),
			pod("new", corev1.ConditionFalse, corev1.PodPending)}, 0, 0},
		"a replacement that is ready": {[]*corev1.Pod{running("other"), running("new")}, 1, 0},
		"a replacement that is complete": {[]*corev1.Pod{running("other"),
			pod("new", corev1.ConditionFalse, corev1.PodSucceeded)}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done, left := ReplacedCount(c.pods, []types.UID{"old"}, []types.UID{"other"})
			if done != c.done || left != c.left {
				t.Errorf("%d replaced and %d left instead of %d and %d", done, left, c.done, c.left)
			}
		})
	}
}

// The status of a Job with one complete pod may still count the evicted one, which its controller replaces later.
func TestCompletePodsAreNoReplacements(t *testing.T) {
	t.Parallel()
	left := []*corev1.Pod{pod("other", corev1.ConditionFalse, corev1.PodSucceeded)}
	f := Follow{Replaced: []types.UID{"old"}, Others: []types.UID{"other"}}
	if v := f.unlessMissing(left, ready.Verdict{Ready: true}); v.Settled() {
		t.Errorf("settled without a replacement: %+v", v)
	}
	if v := f.unlessMissing(nil, ready.Verdict{Ready: true, Complete: true}); !v.Settled() {
		t.Errorf("a complete job waits for pods: %+v", v)
	}
	left = append(left, pod("old", corev1.ConditionTrue, corev1.PodRunning))
	if v := f.unlessMissing(left, ready.Verdict{Ready: true, Complete: true}); v.Settled() {
		t.Errorf("settled while the old pod is left: %+v", v)
	}
}
