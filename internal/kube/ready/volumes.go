package ready

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
)

// ClaimNames returns the names of the claims that the pod mounts.
func ClaimNames(p *corev1.Pod) []string {
	var names []string
	for _, v := range p.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, ephemeralClaim(p, v))
		}
	}
	return names
}

// ephemeralClaim returns the name of the claim of a generic ephemeral volume, which a controller creates for the pod.
func ephemeralClaim(p *corev1.Pod, v corev1.Volume) string { return p.Name + "-" + v.Name }

// Messages of the scheduler (plugins/volumebinding) and of the volume
// controller.
var (
	noClaim        = regexp.MustCompile(`persistentvolumeclaim "([^"]+)" not found`)
	noStorageClass = regexp.MustCompile(`storageclass(?:\.storage\.k8s\.io)? "([^"]+)" not found`)
)

// claimCause explains a pod that cannot be scheduled because one of its claims
// is missing or not bound. A claim that waits for its first consumer is not a
// problem.
func (d podDiagnosis) claimCause(name string) *Cause {
	claim, known := d.workload.Claims[name]
	message, subject := schedulerMessage(d.pod), "claim "+d.pod.Namespace+"/"+name
	switch m := noClaim.FindStringSubmatch(message); {
	case known && claim == nil && slices.ContainsFunc(d.pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Ephemeral != nil && ephemeralClaim(d.pod, v) == name
	}):
		return nil // its controller has not created it yet
	case known && claim == nil, !known && m != nil && m[1] == name:
		c := d.missing(ReasonVolumeMissing, "",
			&Ref{Kind: "PersistentVolumeClaim", Namespace: d.pod.Namespace, Name: name})
		c.Subject = subject
		return c
	case !known:
		return nil
	}
	log := d.workload.events.about("PersistentVolumeClaim", name)
	of := claimDiagnosis{ClaimSnapshot: ClaimSnapshot{Claim: claim, ClassMissing: classMissing(log)}, events: log}
	if of.provisionedWithPod(message) {
		return nil
	}
	c := of.unusable()
	if c == nil {
		return nil
	}
	c.Claimed = c.Claimed || of.ClassMissing && c.Missing != nil // only an event says so
	if claim.DeletionTimestamp != nil {
		c = c.terminal(volumeGrace) // the claim may be created again
	}
	c.Subject = subject
	return c
}

// classMissing reports whether the StorageClass of a claim does not exist, by
// the last failure to provision its volume.
func classMissing(log eventLog) bool {
	e := log.latest("ProvisioningFailed", "VolumeMismatch")
	return e != nil && noStorageClass.MatchString(e.Message)
}

// provisionedWithPod reports whether nothing prevents the volume of the claim
// from being provisioned for its pod. The class is not known here, so this
// follows from the message of the scheduler: it names a claim whose volume must
// exist before.
func (s *claimDiagnosis) provisionedWithPod(message string) bool {
	return s.Claim.DeletionTimestamp == nil && s.Claim.Status.Phase == corev1.ClaimPending &&
		s.className() != "" && s.Claim.Spec.VolumeName == "" &&
		s.events.latest("ProvisioningFailed", "VolumeMismatch") == nil &&
		!strings.Contains(message, "unbound immediate PersistentVolumeClaims")
}

// unlessRetried marks a cause as permanent if the last failure of a provisioner
// or resizer has occurred in at least two attempts.
func (c *Cause) unlessRetried(log eventLog) *Cause {
	reasons := []string{"ProvisioningFailed", "VolumeMismatch", "VolumeResizeFailed", "FileSystemResizeFailed"}
	failures := 0
	for _, e := range log {
		if slices.Contains(reasons, e.Reason) {
			failures += TimesSeen(e)
		}
	}
	switch last := log.latest(reasons...); {
	case stillWorking(last.Message):
		c.Summary, c.Hint = andThen(c.Summary, "The provisioner is still working."), advice.Text{}
		return c
	case failures < 2:
		c.Summary = andThen(c.Summary, "It is retried.")
		return c
	case mentions(last.Message, "csinode"):
		// The topology of a node is unknown until its driver has registered (external-provisioner, topology.go).
		c.Summary = andThen(c.Summary, "The driver of a new node may still be starting.")
		c.Hint = advice.Of("Check that the driver of the volume runs on the node.")
		return c.terminal(recoverGrace)
	}
	return c.terminal(volumeGrace)
}

// stillWorking reports whether a provisioner only needs longer, as CSI drivers
// of slow file systems report (retried gRPC codes), or is throttled by its
// cloud.
func stillWorking(message string) bool {
	return mentions(message, "deadlineexceeded", "code = aborted", "code = unavailable", "in progress",
		"already exists", "context deadline exceeded", "throttl", "requestlimitexceeded", "rate exceeded",
		"ratelimitexceeded", "rate limit", "too many requests", "toomanyrequests")
}
