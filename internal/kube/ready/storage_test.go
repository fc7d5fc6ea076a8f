package ready

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pendingClaim requests 10Gi of class fast, and has no volume.
func pendingClaim() *corev1.PersistentVolumeClaim {
	class := "fast"
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "data", UID: "1"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
}

func boundClaim(capacity string) *corev1.PersistentVolumeClaim {
	claim := pendingClaim()
	claim.Spec.VolumeName = "pv"
	claim.Status.Phase = corev1.ClaimBound
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(capacity)}
	return claim
}

// staticClaim references the PersistentVolume pv, without a class.
func staticClaim() *corev1.PersistentVolumeClaim {
	claim := pendingClaim()
	claim.Spec.VolumeName, *claim.Spec.StorageClassName = "pv", ""
	return claim
}

func volume(change func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv"},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Gi")},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
	}
	change(pv)
	return pv
}

func classOf(provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: provisioner,
		VolumeBindingMode: &mode}
}

// again returns the events after the same failure has occurred twice.
func again(events []*corev1.Event) []*corev1.Event {
	for _, e := range events {
		e.Count = 2
	}
	return events
}

func claimWarning(reason, message string) []*corev1.Event {
	return []*corev1.Event{{
		ObjectMeta:     metav1.ObjectMeta{Name: "data.1"},
		InvolvedObject: corev1.ObjectReference{Kind: "PersistentVolumeClaim", Name: "data"},
		Reason:         reason, Message: message, Type: corev1.EventTypeWarning,
	}}
}

func TestAssessClaimExplainsWhatBlocksAVolume(t *testing.T) {
	t.Parallel()
	const driver = "fast.example.com"
	immediate := classOf(driver, storagev1.VolumeBindingImmediate)
	consumer := classOf(driver, storagev1.VolumeBindingWaitForFirstConsumer)
	change := func(claim *corev1.PersistentVolumeClaim,
		change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
		change(claim)
		return claim
	}
	resizing := func(status corev1.ClaimResourceStatus) *corev1.PersistentVolumeClaim {
		claim := boundClaim("5Gi")
		claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{
			corev1.ResourceStorage: status}
		return claim
	}
	tried := func(size string, claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
		claim.Status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		return claim
	}
	for name, test := range map[string]struct {
		snapshot ClaimSnapshot
		reason   string // "" if it is ready
		says     string // in the message
		ends     bool   // the wait
		grace    time.Duration
	}{
		"bound":                    {ClaimSnapshot{Claim: boundClaim("10Gi")}, "", "bound, 10Gi", false, 0},
		"bound to a larger volume": {ClaimSnapshot{Claim: boundClaim("100Gi")}, "", "bound, 100Gi", false, 0},
		"lost": {ClaimSnapshot{Claim: change(boundClaim("10Gi"),
			func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost })}, ReasonVolumeLost,
			`has lost its PersistentVolume "pv"`, true, shortGrace},
		"being deleted": {ClaimSnapshot{Claim: change(pendingClaim(),
			func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{} })}, ReasonClaimDeleted,
			"is being deleted", true, 0},
		"a missing class": {ClaimSnapshot{Claim: pendingClaim(), ClassMissing: true}, ReasonVolumeNotBound,
			`StorageClass "fast" does not exist`, true, volumeGrace},
		"an unknown class": {ClaimSnapshot{Claim: pendingClaim()}, ReasonVolumeNotBound,
			`StorageClass "fast" has not provisioned a volume.`, false, 0},
		"a provisioner without events": {ClaimSnapshot{Claim: pendingClaim(), Class: immediate}, ReasonVolumeNotBound,
			"its provisioner fast.example.com has not reported any event", false, 0},
		"a provisioner that fails": {
			ClaimSnapshot{Claim: pendingClaim(), Class: immediate,
				Events: again(claimWarning("ProvisioningFailed", "no space left"))},
			ReasonVolumeNotBound, "cannot be bound: no space left.", true, volumeGrace,
		},
		"a provisioner that fails once": {
			ClaimSnapshot{Claim: pendingClaim(), Class: immediate,
				Events: claimWarning("ProvisioningFailed", "no space left")},
			ReasonVolumeNotBound, "cannot be bound: no space left.", false, 0,
		},
		"a provisioner that is throttled": {
			ClaimSnapshot{Claim: pendingClaim(), Class: immediate,
				Events: again(claimWarning("ProvisioningFailed", "ThrottlingException: Rate exceeded"))},
			ReasonVolumeNotBound, "Rate exceeded", false, 0,
		},
		"a provisioner that is slow": {ClaimSnapshot{Claim: pendingClaim(), Class: immediate,
			Events: claimWarning("ProvisioningFailed",
				"rpc error: code = DeadlineExceeded desc = …")}, ReasonVolumeNotBound,
			"DeadlineExceeded", false, 0},
		"no consumer yet": {ClaimSnapshot{Claim: pendingClaim(), Class: consumer}, ReasonWaitsForConsumer,
			"provisions a volume when a pod uses it, and no pod does", false, 0},
		"a consumer": {ClaimSnapshot{Claim: change(pendingClaim(), func(c *corev1.PersistentVolumeClaim) {
			c.Annotations = map[string]string{"volume.kubernetes.io/selected-node": "n"}
		}), Class: consumer}, ReasonVolumeNotBound, "has not reported any event", false, 0},
		"a class without a provisioner": {ClaimSnapshot{Claim: pendingClaim(),
			Class: classOf("kubernetes.io/no-provisioner", storagev1.VolumeBindingImmediate)}, ReasonVolumeNotBound,
			`StorageClass "fast" does not provision volumes`, true, volumeGrace},
		"no class": {ClaimSnapshot{Claim: change(pendingClaim(),
			func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil })}, ReasonVolumeNotBound,
			"it has no StorageClass, and no PersistentVolume matches it", true, volumeGrace},
		"a missing PersistentVolume": {ClaimSnapshot{Claim: staticClaim(), VolumeMissing: true}, ReasonVolumeNotBound,
			`PersistentVolume "pv" does not exist`, true, volumeGrace},
		"an unknown PersistentVolume": {ClaimSnapshot{Claim: staticClaim()}, ReasonVolumeNotBound,
			`is not bound to PersistentVolume "pv" yet`, false, 0},
		"a matching PersistentVolume": {ClaimSnapshot{Claim: staticClaim(),
			Volume: volume(func(*corev1.PersistentVolume) {})}, ReasonVolumeNotBound, "yet, which is Available", false,
			0},
		"a PersistentVolume too small": {ClaimSnapshot{Claim: staticClaim(),
			Volume: volume(func(pv *corev1.PersistentVolume) {
				pv.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("5Gi")
			})}, ReasonVolumeNotBound, "has a capacity of 5Gi, less than the requested 10Gi", true, shortGrace},
		"a PersistentVolume of the size": {ClaimSnapshot{Claim: staticClaim(),
			Volume: volume(func(pv *corev1.PersistentVolume) {
				pv.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("10Gi")
			})}, ReasonVolumeNotBound, "yet, which is Available", false, 0},
		"a PersistentVolume with another access mode": {ClaimSnapshot{Claim: staticClaim(),
			Volume: volume(func(pv *corev1.PersistentVolume) { pv.Spec.AccessModes[0] = corev1.ReadWriteOnce })},
			ReasonVolumeNotBound, "does not support ReadWriteMany, only ReadWriteOnce", true, shortGrace},
		"a PersistentVolume of another class": {ClaimSnapshot{Claim: staticClaim(),
			Volume: volume(func(pv *corev1.PersistentVolume) { pv.Spec.StorageClassName = "slow" })},
			ReasonVolumeNotBound,
			`has the class "slow", and the claim has ""`, true, shortGrace},
		"a PersistentVolume bound to another claim": {ClaimSnapshot{Claim: staticClaim(),
			Volume: volume(func(pv *corev1.PersistentVolume) {
				pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ml", Name: "other"}
			})}, ReasonVolumeNotBound, "is bound to the claim ml/other", true, shortGrace},
		"a released PersistentVolume": {ClaimSnapshot{Claim: staticClaim(),
			Volume: volume(func(pv *corev1.PersistentVolume) {
				pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ml", Name: "data", UID: "0"}
			})}, ReasonVolumeNotBound, "is still bound to a deleted claim", true, shortGrace},
		"being expanded": {ClaimSnapshot{Claim: boundClaim("5Gi")}, ReasonVolumeNotGrown,
			"has 5Gi, and not yet the requested 10Gi", false, 0},
		"expanded by the next mount": {ClaimSnapshot{Claim: resizing(corev1.PersistentVolumeClaimNodeResizePending)},
			"",
			"is expanded by the next mount in a pod", false, 0},
		"expanded by the next mount, once": {ClaimSnapshot{Claim: change(boundClaim("5Gi"),
			func(c *corev1.PersistentVolumeClaim) {
				c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{
					{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue}}
			})}, "", "is expanded by the next mount in a pod", false, 0},
		"no longer expanded by the next mount": {ClaimSnapshot{Claim: change(boundClaim("5Gi"),
			func(c *corev1.PersistentVolumeClaim) {
				c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{
					{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionFalse},
					{Type: corev1.PersistentVolumeClaimResizing, Status: corev1.ConditionTrue}}
			})}, ReasonVolumeNotGrown, "has 5Gi, and not yet", false, 0},
		"an infeasible expansion on the node": {ClaimSnapshot{
			Claim: resizing(corev1.PersistentVolumeClaimNodeResizeInfeasible)},
			ReasonVolumeNotGrown, "the storage does not support it", true, 0},
		"an infeasible expansion": {ClaimSnapshot{
			Claim: resizing(corev1.PersistentVolumeClaimControllerResizeInfeasible)},
			ReasonVolumeNotGrown, "the storage does not support it", true, 0},
		"an infeasible expansion to this size": {ClaimSnapshot{
			Claim: tried("10Gi", resizing(corev1.PersistentVolumeClaimControllerResizeInfeasible))},
			ReasonVolumeNotGrown, "the storage does not support it", true, 0},
		"an infeasible expansion to an earlier size": {ClaimSnapshot{
			Claim: tried("1000Gi", resizing(corev1.PersistentVolumeClaimControllerResizeInfeasible))},
			ReasonVolumeNotGrown, "has 5Gi, and not yet the requested 10Gi", false, 0},
		"an infeasible expansion on the node to an earlier size": {ClaimSnapshot{
			Claim: tried("7Gi", resizing(corev1.PersistentVolumeClaimNodeResizeInfeasible))},
			ReasonVolumeNotGrown, "has 5Gi, and not yet the requested 10Gi", false, 0},
		"a failing expansion to an earlier size": {
			ClaimSnapshot{Claim: tried("1000Gi", boundClaim("5Gi")), Events: again(claimWarning("VolumeResizeFailed",
				"quota of the pool"))},
			ReasonVolumeNotGrown, "has 5Gi, and not yet the requested 10Gi", false, 0,
		},
		"a failing expansion to this size": {
			ClaimSnapshot{Claim: tried("10Gi", boundClaim("5Gi")), Events: again(claimWarning("VolumeResizeFailed",
				"quota of the pool"))},
			ReasonVolumeNotGrown, "cannot be expanded from 5Gi to 10Gi: quota of the pool.", true, volumeGrace,
		},
		"expanded to an earlier, smaller size by the next mount": {ClaimSnapshot{
			Claim: tried("7Gi", resizing(corev1.PersistentVolumeClaimNodeResizePending))},
			ReasonVolumeNotGrown, "has 5Gi, and not yet the requested 10Gi", false, 0},
		"expanded to an earlier, larger size by the next mount": {ClaimSnapshot{
			Claim: tried("20Gi", resizing(corev1.PersistentVolumeClaimNodeResizePending))},
			"", "is expanded by the next mount in a pod", false, 0},
		"expanded to an earlier, smaller size by the next mount, with a condition": {ClaimSnapshot{
			Claim: tried("7Gi", change(boundClaim("5Gi"), func(c *corev1.PersistentVolumeClaim) {
				c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{
					{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue}}
			}))}, ReasonVolumeNotGrown, "has 5Gi, and not yet the requested 10Gi", false, 0},
		"a failing expansion": {
			ClaimSnapshot{Claim: boundClaim("5Gi"), Events: again(claimWarning("VolumeResizeFailed",
				"quota of the pool"))},
			ReasonVolumeNotGrown, "cannot be expanded from 5Gi to 10Gi: quota of the pool.", true, volumeGrace,
		},
		"an expansion that fails once": {
			ClaimSnapshot{Claim: boundClaim("5Gi"), Events: claimWarning("VolumeResizeFailed", "quota of the pool")},
			ReasonVolumeNotGrown, "cannot be expanded from 5Gi to 10Gi: quota of the pool.", false, 0,
		},
		"an expansion by another controller": {ClaimSnapshot{Claim: boundClaim("5Gi"),
			Events: claimWarning("ExternalExpanding", "waiting for an external controller to expand this PVC")},
			ReasonVolumeNotGrown, "has 5Gi, and not yet", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := AssessClaim(test.snapshot)
			if !strings.Contains(got.Message, test.says) {
				t.Errorf("message %q does not contain %q", got.Message, test.says)
			}
			if got.Ready != (test.reason == "") || got.Ready != (got.Cause == nil) {
				t.Fatalf("ready is %t with the cause %v", got.Ready, got.Cause)
			}
			if got.Cause == nil {
				return
			}
			if got.Cause.Reason != test.reason || got.Cause.Terminal != test.ends || got.Cause.Grace != test.grace {
				t.Errorf("got %s, terminal %t after %s; want %s, %t after %s", got.Cause.Reason, got.Cause.Terminal,
					got.Cause.Grace, test.reason, test.ends, test.grace)
			}
			if test.snapshot.Class != nil && got.Cause.Command == "kubectl get persistentvolumes,storageclasses" &&
				!strings.Contains(got.Cause.Hint.In(), "Create a PersistentVolume of that class") {
				t.Errorf("the hint does not name the class: %s", got.Cause.Hint)
			}
			if static := test.snapshot.Volume != nil && got.Cause.Terminal; static &&
				got.Cause.Command != "kubectl describe persistentvolume pv" {
				t.Errorf("command %q, want that of the PersistentVolume", got.Cause.Command)
			}
			if !isAction(got.Cause.Hint.In()) || got.Cause.Command == "" ||
				got.Cause.Object != "PersistentVolumeClaim ml/data" {
				t.Errorf("the cause has no object or next step: %+v", got.Cause)
			}
		})
	}
}
