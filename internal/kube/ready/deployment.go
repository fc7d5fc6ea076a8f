package ready

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// deployment assesses a Deployment. Only causes end a wait. An exceeded
// progress deadline does not, because pulling an image of 20 GB may take that
// long.
func deployment(s Snapshot) Verdict {
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(s.Workload.Object, &d); err != nil {
		return anyKind(s)
	}
	desired := wanted(&d)
	observed := d.Status.ObservedGeneration >= d.Generation
	switch {
	case observed && desired == 0 && d.Status.Replicas == 0:
		return toZero(0)
	case observed && desired == 0:
		return Verdict{Phase: Progressing, Message: fmt.Sprintf("scaling to zero: %s left",
			number(int(d.Status.Replicas), "pod"))}
	case observed && rolledOut(s, &d, desired):
		return Verdict{Phase: Ready, Ready: true,
			Message: fmt.Sprintf("%d of %d pods ready", d.Status.ReadyReplicas, desired)}
	case desired == 0:
		return Verdict{Phase: Progressing, Message: unobserved}
	}
	rev := currentRevision(&d, s)
	diag := newDiagnosis(s, rev.pods)
	diag.desired, diag.together = desired, desired
	diag.dropReplaced()
	if s.Pods == nil {
		diag.desired = 0 // the Deployment counts them
	}
	return diag.verdict(append(diag.deploymentCauses(&d, rev), diag.podCauses()...), diag.deploymentRemark(&d, rev))
}

// wanted returns the number of pods that a Deployment requests, by default 1.
func wanted(d *appsv1.Deployment) int {
	if d.Spec.Replicas == nil {
		return 1
	}
	return int(*d.Spec.Replicas)
}

const unobserved = "the Deployment controller has not observed the last change yet"

func rolledOut(s Snapshot, d *appsv1.Deployment, desired int) bool {
	if d.Spec.Paused {
		// kstatus waits for a condition that is not set on a paused Deployment.
		st := d.Status
		return int(st.Replicas) == desired && st.UpdatedReplicas == st.Replicas && st.AvailableReplicas == st.Replicas
	}
	res, err := status.Compute(s.Workload)
	return err == nil && res.Status == status.CurrentStatus
}

// dropReplaced removes failed pods that have been replaced.
func (s *diagnosis) dropReplaced() {
	var good []*corev1.Pod
	for _, p := range s.pods {
		if p.Status.Phase != corev1.PodFailed {
			good = append(good, p)
		}
	}
	if len(good) >= s.desired {
		s.pods = good
	}
}

// deploymentRemark returns the progress to report if no pod is starting.
func (s *diagnosis) deploymentRemark(d *appsv1.Deployment, rev revision) string {
	old := d.Status.Replicas - d.Status.UpdatedReplicas
	switch {
	case d.Status.ObservedGeneration < d.Generation:
		return unobserved
	case s.Pods == nil:
		return fmt.Sprintf("%d of %d pods ready", min(d.Status.ReadyReplicas, d.Status.UpdatedReplicas), wanted(d))
	case old > 0:
		return fmt.Sprintf("%s of the previous revision left", number(int(old), "pod"))
	case len(rev.pods) == 0:
		return "no pods yet"
	}
	return "waiting for the Deployment to become available"
}

// deploymentCauses returns the causes in the status of the Deployment and its
// ReplicaSet.
func (s *diagnosis) deploymentCauses(d *appsv1.Deployment, rev revision) []*Cause {
	var causes []*Cause
	if d.Spec.Paused {
		c := s.workloadCause(ReasonPaused, fmt.Sprintf("Deployment %s is paused by `kubectl rollout pause` or by its "+
			"field spec.paused. It does not roll out the last change.", d.Name))
		c.Terminal, c.Grace = false, 0
		c.Hint = Advise("Resume it with `%s`, or remove the field from "+FieldPodTemplate+".",
			kubectl(d.Namespace, "rollout resume deployment "+d.Name))
		causes = append(causes, c)
	}
	if c := s.refusedCause(d, rev); c != nil {
		causes = append(causes, c)
	}
	if c := s.queueCause(); c != nil {
		causes = append(causes, c)
	}
	return causes
}
