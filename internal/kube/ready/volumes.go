package ready

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// claimCauses explains a pod that cannot be scheduled because one of its claims
// is missing or not bound. A claim that waits for its first consumer is not a
// problem.
func (s *diagnosis) claimCauses(p *corev1.Pod) []*Cause {
	return causesOf(claimNames(p), func(name string) *Cause { return s.claimCause(p, name) })
}

// claimNames returns the names of the claims that the pod mounts. The name of a
// generic ephemeral volume consists of pod and volume.
func claimNames(p *corev1.Pod) []string {
	var names []string
	for _, v := range p.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, p.Name+"-"+v.Name)
		}
	}
	return names
}

// Messages of the scheduler (plugins/volumebinding) and of the volume
// controller.
var (
	noClaim        = regexp.MustCompile(`persistentvolumeclaim "([^"]+)" not found`)
	noStorageClass = regexp.MustCompile(`storageclass(?:\.storage\.k8s\.io)? "([^"]+)" not found`)
)

func (s *diagnosis) claimCause(p *corev1.Pod, name string) *Cause {
	claim, known := s.Claims[name]
	message := schedulerMessage(p)
	switch {
	case known && claim == nil:
		return s.claimMissing(p, name)
	case !known:
		if m := noClaim.FindStringSubmatch(message); m != nil && m[1] == name {
			return s.claimMissing(p, name)
		}
		return nil
	case claim.DeletionTimestamp != nil:
		return s.unbound(p, name, "is being deleted",
			"Wait until it is deleted and created again, or cancel the deletion.").terminal(volumeGrace)
	case claim.Status.Phase == corev1.ClaimLost:
		return s.unbound(p, name, "has lost its PersistentVolume",
			"Bind the volume again manually, or recreate the claim, whose data may be lost.").terminal(shortGrace)
	case claim.Status.Phase == corev1.ClaimPending:
		return s.claimPending(p, claim)
	}
	return nil
}

func (s *diagnosis) claimMissing(p *corev1.Pod, name string) *Cause {
	c := s.newPodCause(p, ReasonVolumeMissing, "claim "+p.Namespace+"/"+name,
		fmt.Sprintf("PersistentVolumeClaim %q does not exist in namespace %s.", name, p.Namespace),
		StepCreateFirst+", or correct "+FieldClaimName+".")
	c.Command = kubectl(p.Namespace, "get persistentvolumeclaims")
	c.Missing = &Ref{Kind: "PersistentVolumeClaim", Namespace: p.Namespace, Name: name}
	return c.terminal(shortGrace)
}

func (s *diagnosis) unbound(p *corev1.Pod, name, what string, hint Advice) *Cause {
	c := causeOfClaim(ReasonVolumeNotBound, p.Namespace, name, what, hint)
	c.Subject = "claim " + p.Namespace + "/" + name
	c.Events = s.events.about("PersistentVolumeClaim", name).render()
	return c
}

func (s *diagnosis) claimPending(p *corev1.Pod, claim *corev1.PersistentVolumeClaim) *Cause {
	class := ""
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	log := s.events.about("PersistentVolumeClaim", claim.Name)
	if e := log.latest("ProvisioningFailed", "VolumeMismatch"); e != nil {
		if m := noStorageClass.FindStringSubmatch(e.Message); m != nil {
			c := s.unbound(p, claim.Name, fmt.Sprintf("cannot be bound: StorageClass %q does not exist", m[1]),
				"Create the class, or set another class in the claim (`kubectl get storageclasses`).")
			c.Missing = &Ref{Kind: "StorageClass", Name: m[1]}
			return c.terminal(volumeGrace)
		}
		c := s.unbound(p, claim.Name, "cannot be bound: "+strings.TrimSuffix(clip(e.Message), "."),
			"Correct the problem that the provisioner reports in the claim or its StorageClass.")
		return c.unlessRetried(log)
	}
	switch {
	case class == "" && claim.Spec.VolumeName == "":
		return s.unbound(p, claim.Name, "cannot be bound: it has no StorageClass, and no PersistentVolume matches it",
			"Set a StorageClass in the claim (`kubectl get storageclasses`), or create a PersistentVolume for "+
				"it.").terminal(volumeGrace)
	case class == "":
		return s.unbound(p, claim.Name, fmt.Sprintf("is not bound to PersistentVolume %q yet", claim.Spec.VolumeName),
			"Check that the PersistentVolume exists, is Available, and has the size and access mode of the claim.")
	case strings.Contains(schedulerMessage(p), "unbound immediate PersistentVolumeClaims"):
		return s.unbound(p, claim.Name, fmt.Sprintf("is not bound yet: StorageClass %q has not provisioned a volume",
			class), "Check the provisioner of the class if this persists.")
	}
	return nil
}

// unlessRetried marks a cause as permanent if the last failure of a provisioner
// or resizer has occurred in at least two attempts.
func (c *Cause) unlessRetried(log eventLog) *Cause {
	reasons := []string{"ProvisioningFailed", "VolumeMismatch", "VolumeResizeFailed", "FileSystemResizeFailed"}
	failures := 0
	for _, e := range log {
		if slices.Contains(reasons, e.Reason) {
			failures += timesSeen(e)
		}
	}
	switch last := log.latest(reasons...); {
	case last == nil:
		return c
	case stillWorking(last.Message):
		c.Summary, c.Hint = andThen(c.Summary, "The provisioner is still working."), ""
		return c
	case failures < 2:
		c.Summary = andThen(c.Summary, "It is retried.")
		return c
	}
	return c.terminal(volumeGrace)
}

// stillWorking reports whether a provisioner only needs longer, as CSI drivers
// of slow file systems report (retried gRPC codes), or is throttled by its
// cloud.
func stillWorking(message string) bool {
	low := strings.ToLower(message)
	for _, word := range []string{
		"deadlineexceeded", "code = aborted", "code = unavailable", "in progress", "already exists",
		"context deadline exceeded",
		"throttl", "requestlimitexceeded", "rate exceeded", "ratelimitexceeded", "rate limit", "too many requests",
		"toomanyrequests",
	} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}
