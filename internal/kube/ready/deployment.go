package ready

import (
	"fmt"
	"sync"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
)

// rollout is the part of a Deployment that shows whether it is rolled out. The
// template, which is much larger, is decoded only for a diagnosis.
type rollout struct {
	Spec struct {
		Replicas *int32 `json:"replicas"`
		Paused   bool   `json:"paused"`
	} `json:"spec"`
	Status appsv1.DeploymentStatus `json:"status"`
}

// deployment assesses a Deployment. Only causes end a wait. An exceeded
// progress deadline does not, because pulling an image of 20 GB may take that
// long.
func deployment(u *unstructured.Unstructured) assessor {
	r := decoded[rollout](u)
	if r == nil {
		return anyKind
	}
	whole := sync.OnceValue(func() *appsv1.Deployment { return decoded[appsv1.Deployment](u) })
	desired := orOne(r.Spec.Replicas)
	return func(s Snapshot) Verdict {
		current := s.observed(r.Status.ObservedGeneration, desired)
		switch {
		case current && desired == 0:
			return toZero(int(r.Status.Replicas))
		case current && r.complete(s, desired):
			return isReady("%d of %d pods ready", r.Status.ReadyReplicas, desired)
		case desired == 0:
			return notReady(unobserved)
		}
		d := whole()
		if d == nil {
			return anyKind(s)
		}
		rev := currentRevision(d, s)
		return s.diagnoseBy(run{desired: desired, alike: true, pods: rev.pods, remark: s.deploymentRemark(d, rev)},
			func(diag *diagnosis) *Cause { return diag.pausedCause(d) },
			func(diag *diagnosis) *Cause { return diag.refusedCause(d, rev) },
			(*diagnosis).queueCause)
	}
}

const unobserved = "the Deployment controller has not observed the last change yet"

func (r *rollout) complete(s Snapshot, desired int) bool {
	if r.Spec.Paused {
		// kstatus waits for a condition that is not set on a paused Deployment.
		st := r.Status
		return int(st.Replicas) == desired && st.UpdatedReplicas == st.Replicas && st.AvailableReplicas == st.Replicas
	}
	res, err := status.Compute(s.Workload)
	return err == nil && res.Status == status.CurrentStatus
}

// deploymentRemark returns the progress to report if no pod is starting.
func (s Snapshot) deploymentRemark(d *appsv1.Deployment, rev revision) string {
	old := d.Status.Replicas - d.Status.UpdatedReplicas
	switch {
	case d.Status.ObservedGeneration < d.Generation:
		return unobserved
	case s.Pods == nil:
		return s.counted(int(min(d.Status.ReadyReplicas, d.Status.UpdatedReplicas)), orOne(d.Spec.Replicas))
	case old > 0:
		return fmt.Sprintf("%s of the previous revision left", advice.Number(old, "pod"))
	case len(rev.pods) == 0:
		return "no pods yet"
	}
	return "waiting for the Deployment to become available"
}

// pausedCause reports a paused Deployment.
func (s *diagnosis) pausedCause(d *appsv1.Deployment) *Cause {
	if !d.Spec.Paused {
		return nil
	}
	return s.cause(ReasonPaused, fmt.Sprintf("Deployment %s is paused by `kubectl rollout pause` or by its field "+
		"spec.paused. It does not roll out the last change.", d.Name),
		"Resume it with `%s`, or remove the field from %s.",
		Kubectl(d.Namespace, "rollout", "resume", "deployment", d.Name), advice.PodTemplate)
}
