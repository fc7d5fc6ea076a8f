package ready

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Reasons of causes that prevent a claim from being bound or expanded.
const (
	ReasonWaitsForConsumer = "WaitsForConsumer" // its class provisions a volume when a pod uses it
	ReasonVolumeLost       = "VolumeLost"
	ReasonVolumeNotGrown   = "VolumeNotGrown"
	ReasonClaimDeleted     = "ClaimDeleted"
)

// ClaimSnapshot contains the known state of one claim at one moment. It is
// never modified.
type ClaimSnapshot struct {
	Claim *corev1.PersistentVolumeClaim
	// Class is the StorageClass of the claim, or nil if the claim has none, or if
	// the class is missing or unknown.
	Class        *storagev1.StorageClass
	ClassMissing bool
	// Volume is the PersistentVolume of the claim, or nil like Class.
	Volume        *corev1.PersistentVolume
	VolumeMissing bool
	// Events are the warnings about the claim, in any order.
	Events []*corev1.Event
}

// AssessClaim assesses a claim. It is ready if it is bound to a volume of at
// least the requested size. A volume whose file system is expanded by the next
// mount is ready too, and the message of the verdict states this.
func AssessClaim(s ClaimSnapshot) Verdict {
	d := claimDiagnosis{ClaimSnapshot: s, events: newEventLog(s.Events)}
	if cause := d.unusable(); cause != nil {
		return Verdict{Message: cause.Summary, Cause: cause}
	}
	return d.bound()
}

type claimDiagnosis struct {
	ClaimSnapshot
	events eventLog
}

func (s *claimDiagnosis) cause(reason, what, next string, values ...any) *Cause {
	c := causeIn(kind.PersistentVolumeClaim().GroupVersionKind, s.Claim.Namespace, s.Claim.Name, s.events)
	c.Reason, c.Hint = reason, advice.Of(next, values...)
	c.Summary = fmt.Sprintf("PersistentVolumeClaim %q %s.", s.Claim.Name, what)
	return c
}

// unusable returns the reason why a claim has no volume, or nil if it has one.
func (s *claimDiagnosis) unusable() *Cause {
	switch {
	case s.Claim.DeletionTimestamp != nil:
		return s.cause(ReasonClaimDeleted, "is being deleted",
			"Wait until it is deleted, and create it again.").terminal(0)
	case s.Claim.Status.Phase == corev1.ClaimLost:
		return s.cause(ReasonVolumeLost, fmt.Sprintf("has lost its PersistentVolume %q", s.Claim.Spec.VolumeName),
			"Restore the PersistentVolume with the same name and the UID of the claim in claimRef, or delete the "+
				"claim: its data is lost with the volume.").terminal(shortGrace)
	case s.Claim.Status.Phase != corev1.ClaimBound:
		return s.unbound()
	}
	return nil
}

func (s *claimDiagnosis) notBound(what, next string, values ...any) *Cause {
	return s.cause(ReasonVolumeNotBound, "cannot be bound: "+what, next, values...)
}

// className returns the name of the class, or "".
func (s *claimDiagnosis) className() string { return ptr.Deref(s.Claim.Spec.StorageClassName, "") }

// unbound returns the reason why a claim has no volume yet.
func (s *claimDiagnosis) unbound() *Cause {
	class := s.className()
	const byHand = "kubernetes.io/no-provisioner"
	switch {
	case s.Claim.Spec.VolumeName != "":
		return s.static()
	case s.waitsForConsumer():
		return s.cause(ReasonWaitsForConsumer,
			fmt.Sprintf("is not bound yet: StorageClass %q provisions a volume when a "+
				"pod uses it, and no pod does", class),
			"Start a pod that uses the claim, or do not %s.", advice.BindingWait)
	case s.ClassMissing:
		c := s.notBound(fmt.Sprintf("StorageClass %q does not exist", class),
			"Create the class, or set another storage class.").terminal(volumeGrace)
		c.Command = "kubectl get storageclasses"
		c.Missing = &Ref{Kind: "StorageClass", Name: class}
		return c
	case class == "" || (s.Class != nil && s.Class.Provisioner == byHand):
		what, matching := "it has no StorageClass", "without a class"
		if class != "" {
			what = fmt.Sprintf("StorageClass %q does not provision volumes (%s)", class, byHand)
			matching = "of that class"
		}
		c := s.notBound(what+", and no PersistentVolume matches it",
			"Create a PersistentVolume %s with the access mode of the claim and at least its size, or set a class "+
				"that provisions volumes.", matching).terminal(volumeGrace)
		c.Command = "kubectl get persistentvolumes,storageclasses"
		return c
	}
	if e := s.events.latest("ProvisioningFailed", "VolumeMismatch"); e != nil {
		return s.notBound(strings.TrimSuffix(clip(e.Message), "."),
			"Correct the problem that the provisioner reports in the claim or its StorageClass.").
			unlessRetried(s.events)
	}
	what := fmt.Sprintf("is not bound yet: StorageClass %q has not provisioned a volume", class)
	if s.Class != nil {
		what += fmt.Sprintf(", and its provisioner %s has not reported any event", s.Class.Provisioner)
	}
	return s.cause(ReasonVolumeNotBound, what, "Check that the provisioner of the class is running, and read its log.")
}

// waitsForConsumer reports whether provisioning waits for a pod that uses the
// volume. The scheduler first selects a node for such a pod.
func (s *claimDiagnosis) waitsForConsumer() bool {
	return s.Class != nil &&
		ptr.Deref(s.Class.VolumeBindingMode, "") == storagev1.VolumeBindingWaitForFirstConsumer &&
		s.Claim.Annotations["volume.kubernetes.io/selected-node"] == ""
}

// static returns the reason why a claim is not bound to its PersistentVolume,
// by the rules of the volume controller of Kubernetes
// (checkVolumeSatisfyClaim).
func (s *claimDiagnosis) static() *Cause {
	name := s.Claim.Spec.VolumeName
	mismatch := func(what, next string, values ...any) *Cause {
		c := s.notBound(fmt.Sprintf("PersistentVolume %q %s", name, what), next, values...).terminal(shortGrace)
		c.Command = Kubectl("", "describe", "persistentvolume", name)
		return c
	}
	switch {
	case s.VolumeMissing:
		return mismatch("does not exist", "Create it, or set another volume name.").terminal(volumeGrace)
	case s.Volume == nil:
		return s.cause(ReasonVolumeNotBound, fmt.Sprintf("is not bound to PersistentVolume %q yet", name),
			"Check that the PersistentVolume exists, is Available, and has the size, access mode and class of the "+
				"claim.")
	}
	wanted := s.Claim.Spec.Resources.Requests[corev1.ResourceStorage]
	has := s.Volume.Spec.Capacity[corev1.ResourceStorage]
	missing := filter(s.Claim.Spec.AccessModes, func(mode corev1.PersistentVolumeAccessMode) bool {
		return !slices.Contains(s.Volume.Spec.AccessModes, mode)
	})
	switch other := s.Volume.Spec.ClaimRef; {
	case other != nil && (other.Namespace != s.Claim.Namespace || other.Name != s.Claim.Name):
		return mismatch(fmt.Sprintf("is bound to the claim %s/%s", other.Namespace, other.Name),
			"Set the volume name to another PersistentVolume.")
	case other != nil && other.UID != "" && other.UID != s.Claim.UID:
		return mismatch("is still bound to a deleted claim of the same name",
			"Release it if its data may be reused:\n  kubectl patch persistentvolume %s -p "+
				"'{\"spec\":{\"claimRef\":null}}'", name)
	case has.Cmp(wanted) < 0:
		return mismatch(fmt.Sprintf("has a capacity of %s, less than the requested %s", has.String(), wanted.String()),
			"Reduce the size, or use a larger PersistentVolume.")
	case len(missing) > 0:
		return mismatch(fmt.Sprintf("does not support %s, only %s", modes(missing), modes(s.Volume.Spec.AccessModes)),
			"Set the access mode to a supported mode.")
	case s.Volume.Spec.StorageClassName != s.className():
		return mismatch(fmt.Sprintf("has the class %q, and the claim has %q", s.Volume.Spec.StorageClassName,
			s.className()), "Set the storage class to the class of the PersistentVolume.")
	}
	return s.cause(ReasonVolumeNotBound, fmt.Sprintf("is not bound to PersistentVolume %q yet, which is %s", name,
		s.Volume.Status.Phase), "Check the events of both.")
}

func modes(all []corev1.PersistentVolumeAccessMode) string {
	modes := kind.Each(all, func(mode corev1.PersistentVolumeAccessMode) string { return string(mode) })
	return strings.Join(modes, ", ")
}

// bound returns the verdict on the size of a bound claim.
func (s *claimDiagnosis) bound() Verdict {
	wanted := s.Claim.Spec.Resources.Requests[corev1.ResourceStorage]
	has := s.Claim.Status.Capacity[corev1.ResourceStorage]
	if has.Cmp(wanted) >= 0 {
		return Verdict{Ready: true, Message: "bound, " + has.String()}
	}
	resize := s.Claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
	// The status and the events are about the size that the resizer tried last. It may not have seen a new one yet.
	tried, known := s.Claim.Status.AllocatedResources[corev1.ResourceStorage]
	tooSmall, otherSize := known && tried.Cmp(wanted) < 0, known && tried.Cmp(wanted) != 0
	if !tooSmall && (resize == corev1.PersistentVolumeClaimNodeResizePending ||
		s.condition(corev1.PersistentVolumeClaimFileSystemResizePending)) {
		return Verdict{Ready: true,
			Message: fmt.Sprintf("The volume was expanded to %s. Its file system of %s is expanded by the next mount "+
				"in a pod.", wanted.String(), has.String())}
	}
	c := s.cause(ReasonVolumeNotGrown, fmt.Sprintf("has %s, and not yet the requested %s", has.String(),
		wanted.String()), "Check that the resizer of its StorageClass is running, and read its log.")
	switch e := s.events.latest("VolumeResizeFailed", "FileSystemResizeFailed"); {
	case otherSize:
	case resize == corev1.PersistentVolumeClaimControllerResizeInfeasible,
		resize == corev1.PersistentVolumeClaimNodeResizeInfeasible:
		c = s.notGrown(has, wanted, "the storage does not support it ("+string(resize)+")").terminal(0)
	case e != nil && !stillWorking(e.Message):
		c = s.notGrown(has, wanted, strings.TrimSuffix(clip(e.Message), ".")).unlessRetried(s.events)
	}
	return Verdict{Message: c.Summary, Cause: c}
}

func (s *claimDiagnosis) notGrown(has, wanted resource.Quantity, why string) *Cause {
	return s.cause(ReasonVolumeNotGrown, fmt.Sprintf("cannot be expanded from %s to %s: %s", has.String(),
		wanted.String(), why),
		"Request a size between the current size and the maximum of the storage, or increase the capacity of the "+
			"storage.")
}

func (s *claimDiagnosis) condition(kind corev1.PersistentVolumeClaimConditionType) bool {
	return slices.ContainsFunc(s.Claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}
