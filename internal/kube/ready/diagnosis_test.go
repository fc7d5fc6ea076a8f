package ready

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Pods that do not exist are further from ready than those that crash, and these further than those that start.
func TestOfOtherwiseEqualCausesTheOneFurthestFromReadyIsReported(t *testing.T) {
	t.Parallel()
	steps := [][]string{
		{ReasonQuotaExceeded, ReasonServiceAccountMissing, ReasonPodsRefused},
		{ReasonCrashLoop, ReasonContainerExited, ReasonOutOfMemory, ReasonFailed},
		{ReasonInvalidImageName, ReasonImagePullFailed},
		{ReasonUnschedulable, ReasonWaitingForCapacity, ReasonVolumeMissing, ReasonVolumeNotBound, ReasonVolumeLost,
			ReasonClaimDeleted},
		{ReasonConfigError, ReasonMountFailed, ReasonProbeFailing, ReasonNodeNotReady},
		{ReasonPaused, ReasonPodFailed},
		{ReasonQueued, ReasonQueueMissing, ReasonQueueInactive},
	}
	for i, step := range steps[:len(steps)-1] {
		for _, reason := range step {
			for _, nearer := range steps[i+1] {
				if got := worst([]*Cause{{Reason: nearer}, {Reason: reason}}).Reason; got != reason {
					t.Errorf("%s and %s: %s is reported", nearer, reason, got)
				}
			}
		}
	}
}

func TestPermanentCausesAreReportedFirst(t *testing.T) {
	t.Parallel()
	causes := []*Cause{ // the later, the more relevant
		{Reason: ReasonCrashLoop},
		{Reason: ReasonConfigError, Terminal: true, Grace: time.Minute},
		{Reason: ReasonConfigError, Terminal: true, Grace: time.Second},
		{Reason: ReasonMountFailed, Terminal: true},
	}
	for i, want := range causes {
		if got := worst(causes[:i+1]); got != want {
			t.Errorf("of %d causes, %+v is reported", i+1, got)
		}
	}
	if got := worst(nil); got != nil {
		t.Errorf("%+v is reported", got)
	}
}

// The controller of ephemeral volumes creates their claims, which are named after the pod and the volume. It creates no
// other claim.
func TestAMissingClaimIsReportedUnlessAControllerCreatesIt(t *testing.T) {
	t.Parallel()
	ephemeral := corev1.Volume{Name: "scratch",
		VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}
	of := func(name, claim string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
	}
	type claims = map[string]*corev1.PersistentVolumeClaim
	for name, c := range map[string]struct {
		volumes []corev1.Volume
		claims  claims
		message string // of the scheduler
		want    string // the missing claim
	}{
		"a claim":                     {[]corev1.Volume{of("data", "data")}, claims{"data": nil}, "", "data"},
		"that of an ephemeral volume": {[]corev1.Volume{ephemeral}, claims{"svc-scratch": nil}, "", ""},
		"a claim beside an ephemeral volume": {[]corev1.Volume{ephemeral, of("data", "data")},
			claims{"svc-scratch": nil, "data": nil}, "", "data"},
		"a claim that is named like that of an ephemeral volume": {[]corev1.Volume{of("data", "svc-data")},
			claims{"svc-data": nil}, "", "svc-data"},
		"a claim beside one that exists": {[]corev1.Volume{of("old", "old"), of("data", "data")},
			claims{"old": boundClaim("10Gi"), "data": nil}, "", "data"},
		"an unknown claim": {[]corev1.Volume{of("data", "data")}, nil, "", ""},
		"an unknown claim that the scheduler does not find": {[]corev1.Volume{of("old", "old"), of("data", "data")},
			nil, `persistentvolumeclaim "data" not found`, "data"},
		"another claim that the scheduler does not find": {[]corev1.Volume{of("data", "data")}, nil,
			`persistentvolumeclaim "other" not found`, ""},
		"a claim that exists although the scheduler does not find it": {[]corev1.Volume{of("data", "data")},
			claims{"data": boundClaim("10Gi")}, `persistentvolumeclaim "data" not found`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "svc"},
				Spec:       corev1.PodSpec{Volumes: c.volumes},
				Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
					Message: c.message}}},
			}
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
			if err != nil {
				t.Fatal(err)
			}
			cause := Assess(Snapshot{Workload: &unstructured.Unstructured{Object: object}, Claims: c.claims}).Cause
			got := ""
			if cause != nil && cause.Reason == ReasonVolumeMissing {
				got = cause.Missing.Name
			}
			if got != c.want {
				t.Errorf("reported %q, want %q: %+v", got, c.want, cause)
			}
		})
	}
}
