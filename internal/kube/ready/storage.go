package ready

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The reasons of causes that keep a claim from being bound or from growing.
const (
	ReasonWaitsForConsumer = "WaitsForConsumer" // its class provides a volume once a pod needs it
	ReasonVolumeLost       = "VolumeLost"
	ReasonVolumeNotGrown   = "VolumeNotGrown"
	ReasonClaimDeleted     = "ClaimDeleted"
)

// ClaimSnapshot is what is known about one claim at one moment. Nothing in it is
// written to.
type ClaimSnapshot struct {
	Claim *corev1.PersistentVolumeClaim
	// Class is the one that the claim names; nil where it names none, and where
	// it is missing or not known.
	Class        *storagev1.StorageClass
	ClassMissing bool
	// Volume is the one that the claim names; nil as Class.
	Volume        *corev1.PersistentVolume
	VolumeMissing bool
	// Events are warnings about the claim, in any order.
	Events []*corev1.Event
}

// AssessClaim judges a claim: it is ready when it is bound to a volume that is as
// large as it asks. A volume that only has to be mounted again for its file
// system to grow is ready too, and the verdict's message says so.
func AssessClaim(s ClaimSnapshot) Verdict {
	sc := claimScene{ClaimSnapshot: s, events: newEventLog(s.Events)}
	var cause *Cause
	switch {
	case s.Claim.DeletionTimestamp != nil:
		cause = sc.cause(ReasonClaimDeleted, "is being deleted", "Wait until it is gone, and apply again.").terminal(0)
	case s.Claim.Status.Phase == corev1.ClaimLost:
		cause = sc.cause(ReasonVolumeLost, fmt.Sprintf("has lost its PersistentVolume %q", s.Claim.Spec.VolumeName),
			"Restore the PersistentVolume under its name with the claim's UID in claimRef, or give the claim up: its data is gone with the volume.").terminal(shortGrace)
	case s.Claim.Status.Phase != corev1.ClaimBound:
		cause = sc.unbound()
	default:
		return sc.bound()
	}
	return Verdict{Phase: Progressing, Message: cause.Summary, Cause: cause}
}

type claimScene struct {
	ClaimSnapshot
	events eventLog
}

func (s *claimScene) cause(reason, what, hint string) *Cause {
	namespace, name := s.Claim.Namespace, s.Claim.Name
	return &Cause{
		Reason:  reason,
		Object:  fmt.Sprintf("PersistentVolumeClaim %s/%s", namespace, name),
		Summary: fmt.Sprintf("PersistentVolumeClaim %q %s.", name, what),
		Hint:    hint,
		Command: kubectl(namespace, "describe persistentvolumeclaim "+name),
		Events:  s.events.render(),
	}
}

func (s *claimScene) notBound(what, hint string) *Cause {
	return s.cause(ReasonVolumeNotBound, "cannot be bound: "+what, hint)
}

// className is "" for none.
func (s *claimScene) className() string {
	if s.Claim.Spec.StorageClassName == nil {
		return ""
	}
	return *s.Claim.Spec.StorageClassName
}

// unbound says why a claim has no volume yet.
func (s *claimScene) unbound() *Cause {
	class := s.className()
	const byHand = "kubernetes.io/no-provisioner"
	switch {
	case s.Claim.Spec.VolumeName != "":
		return s.static()
	case s.waitsForConsumer():
		return s.cause(ReasonWaitsForConsumer, fmt.Sprintf("is not bound yet: StorageClass %q provides a volume once a pod needs it, and no pod does", class),
			"Start what uses it, or leave `wait_for_bound` out.")
	case s.ClassMissing:
		c := s.notBound(fmt.Sprintf("StorageClass %q does not exist", class), "Create the class, or name another in `storage_class`.").terminal(volumeGrace)
		c.Command = "kubectl get storageclasses"
		return c
	case class == "" || (s.Class != nil && s.Class.Provisioner == byHand):
		what := "it has no StorageClass"
		if class != "" {
			what = fmt.Sprintf("StorageClass %q provides no volumes by itself (%s)", class, byHand)
		}
		c := s.notBound(what+", and no PersistentVolume fits it", "Create a PersistentVolume of that class with the claim's access mode and at least its size, or name a class that provides volumes.").terminal(volumeGrace)
		c.Command = "kubectl get persistentvolumes,storageclasses"
		return c
	}
	if e := s.events.latest("ProvisioningFailed", "VolumeMismatch"); e != nil {
		return s.notBound(strings.TrimSuffix(clip(e.Message), "."), "Correct what the provisioner names in the claim or its StorageClass.").unlessRetried(s.events)
	}
	what := fmt.Sprintf("is not bound yet: StorageClass %q has not provided a volume", class)
	hint := "Check that the provisioner of the class runs, and read its log."
	if s.Class != nil {
		what += fmt.Sprintf(", and its provisioner %s has said nothing of it", s.Class.Provisioner)
	}
	return s.cause(ReasonVolumeNotBound, what, hint)
}

// waitsForConsumer says whether nothing happens until a pod needs the volume. A
// pod that does makes the scheduler choose a node first.
func (s *claimScene) waitsForConsumer() bool {
	return s.Class != nil && s.Class.VolumeBindingMode != nil && *s.Class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer &&
		s.Claim.Annotations["volume.kubernetes.io/selected-node"] == ""
}

// static says why a claim is not bound to the PersistentVolume that it names, by
// the rules of Kubernetes' volume controller (checkVolumeSatisfyClaim).
func (s *claimScene) static() *Cause {
	name := s.Claim.Spec.VolumeName
	mismatch := func(what, hint string) *Cause {
		c := s.notBound(fmt.Sprintf("PersistentVolume %q %s", name, what), hint).terminal(shortGrace)
		c.Command = "kubectl describe persistentvolume " + name
		return c
	}
	switch {
	case s.VolumeMissing:
		return mismatch("does not exist", "Create it, or name another in `volume_name`.").terminal(volumeGrace)
	case s.Volume == nil:
		return s.cause(ReasonVolumeNotBound, fmt.Sprintf("is not bound to PersistentVolume %q yet", name),
			"Check that the PersistentVolume exists, is Available, and has the claim's size, access mode and class.")
	}
	wanted, has := s.Claim.Spec.Resources.Requests[corev1.ResourceStorage], s.Volume.Spec.Capacity[corev1.ResourceStorage]
	missing := slices.DeleteFunc(slices.Clone(s.Claim.Spec.AccessModes), func(mode corev1.PersistentVolumeAccessMode) bool {
		return slices.Contains(s.Volume.Spec.AccessModes, mode)
	})
	switch other := s.Volume.Spec.ClaimRef; {
	case other != nil && (other.Namespace != s.Claim.Namespace || other.Name != s.Claim.Name):
		return mismatch(fmt.Sprintf("belongs to the claim %s/%s", other.Namespace, other.Name), "Name another PersistentVolume in `volume_name`.")
	case other != nil && other.UID != "" && other.UID != s.Claim.UID:
		return mismatch("still belongs to a former claim of the same name", fmt.Sprintf("Free it if its data may be used again:\n  kubectl patch persistentvolume %s -p '{\"spec\":{\"claimRef\":null}}'", name))
	case has.Cmp(wanted) < 0:
		return mismatch(fmt.Sprintf("holds %s, less than the %s asked for", has.String(), wanted.String()), "Ask for no more in `size`, or name a larger one.")
	case len(missing) > 0:
		return mismatch(fmt.Sprintf("does not offer %s, but %s", modes(missing), modes(s.Volume.Spec.AccessModes)), "Set `access_mode` to one that it offers.")
	case s.Volume.Spec.StorageClassName != s.className():
		return mismatch(fmt.Sprintf("is of the class %q, and the claim of %q", s.Volume.Spec.StorageClassName, s.className()), "Set `storage_class` to that of the PersistentVolume.")
	}
	return s.cause(ReasonVolumeNotBound, fmt.Sprintf("is not bound to PersistentVolume %q yet, which is %s", name, s.Volume.Status.Phase),
		"Check the events of both.")
}

func modes(all []corev1.PersistentVolumeAccessMode) string {
	var names []string
	for _, mode := range all {
		names = append(names, string(mode))
	}
	return strings.Join(names, ", ")
}

// bound says whether a bound claim has the size that it asks for.
func (s *claimScene) bound() Verdict {
	wanted, has := s.Claim.Spec.Resources.Requests[corev1.ResourceStorage], s.Claim.Status.Capacity[corev1.ResourceStorage]
	if has.Cmp(wanted) >= 0 {
		return Verdict{Phase: Ready, Ready: true, Message: "bound, " + has.String()}
	}
	resize := s.Claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
	if resize == corev1.PersistentVolumeClaimNodeResizePending || s.condition(corev1.PersistentVolumeClaimFileSystemResizePending) {
		return Verdict{Phase: Ready, Ready: true, Message: fmt.Sprintf("The volume has grown to %s. Its file system, of %s now, grows when a pod next mounts it.", wanted.String(), has.String())}
	}
	c := s.cause(ReasonVolumeNotGrown, fmt.Sprintf("has %s, and not yet the %s asked for", has.String(), wanted.String()),
		"Check that the resizer of its StorageClass runs, and read its log.")
	switch e := s.events.latest("VolumeResizeFailed", "FileSystemResizeFailed"); {
	case resize == corev1.PersistentVolumeClaimControllerResizeInfeasible, resize == corev1.PersistentVolumeClaimNodeResizeInfeasible:
		c = s.notGrown(has, wanted, "the storage cannot do it ("+string(resize)+")").terminal(0)
	case e != nil && !stillWorking(e.Message):
		c = s.notGrown(has, wanted, strings.TrimSuffix(clip(e.Message), ".")).unlessRetried(s.events)
	}
	return Verdict{Phase: Progressing, Message: c.Summary, Cause: c}
}

func (s *claimScene) notGrown(has, wanted resource.Quantity, why string) *Cause {
	return s.cause(ReasonVolumeNotGrown, fmt.Sprintf("does not grow from %s to %s: %s", has.String(), wanted.String(), why),
		"Ask for a size between what there is and what the storage can give, or have the storage made larger.")
}

func (s *claimScene) condition(kind corev1.PersistentVolumeClaimConditionType) bool {
	return slices.ContainsFunc(s.Claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}
