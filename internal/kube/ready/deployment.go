package ready

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// deployment judges a Deployment. Only causes end a wait: that its progress
// deadline has passed says nothing, for an image of 20 GB may take that long.
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
		return Verdict{Phase: Progressing, Message: fmt.Sprintf("scaling to zero: %s left", number(int(d.Status.Replicas), "pod"))}
	case observed && rolledOut(s, &d, desired):
		return Verdict{Phase: Ready, Ready: true, Message: fmt.Sprintf("%d of %d pods ready", d.Status.ReadyReplicas, desired)}
	case desired == 0:
		return Verdict{Phase: Progressing, Message: unobserved}
	}
	rev := currentRevision(&d, s)
	sc := newScene(s, rev.pods)
	sc.desired, sc.together = desired, desired
	sc.dropReplaced()
	if s.Pods == nil {
		sc.desired = 0 // the Deployment has counted them
	}
	return sc.verdict(append(sc.deploymentCauses(&d, rev), sc.podCauses()...), sc.deploymentRemark(&d, rev))
}

// wanted is how many pods a Deployment asks for; 1 where it does not say.
func wanted(d *appsv1.Deployment) int {
	if d.Spec.Replicas == nil {
		return 1
	}
	return int(*d.Spec.Replicas)
}

const unobserved = "the Deployment controller has not seen the last change yet"

func rolledOut(s Snapshot, d *appsv1.Deployment, desired int) bool {
	if d.Spec.Paused {
		// kstatus waits for a condition that a paused Deployment does not get.
		st := d.Status
		return int(st.Replicas) == desired && st.UpdatedReplicas == st.Replicas && st.AvailableReplicas == st.Replicas
	}
	res, err := status.Compute(s.Workload)
	return err == nil && res.Status == status.CurrentStatus
}

// dropReplaced leaves out failed pods once others stand in for them.
func (s *scene) dropReplaced() {
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

// deploymentRemark is the progress to tell when no pod is on its way.
func (s *scene) deploymentRemark(d *appsv1.Deployment, rev revision) string {
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
	return "waiting for the Deployment to be available"
}

// deploymentCauses are what the Deployment and its ReplicaSet say themselves.
func (s *scene) deploymentCauses(d *appsv1.Deployment, rev revision) []*Cause {
	var causes []*Cause
	if d.Spec.Paused {
		c := s.workloadCause(ReasonPaused, fmt.Sprintf("Deployment %s is paused, by `kubectl rollout pause` or by `paused` in `service_template`: it does not roll out its last change.", d.Name))
		c.Terminal, c.Grace = false, 0
		c.Hint = fmt.Sprintf("Resume it with `%s`, or remove `paused` from `service_template`.", kubectl(d.Namespace, "rollout resume deployment "+d.Name))
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
