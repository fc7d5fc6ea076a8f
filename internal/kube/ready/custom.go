package ready

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// anyKind assesses a kind that is not in the table: by kstatus if the status
// follows the conventions of conditions, by the counts of replicas, and
// otherwise by the pods.
func anyKind(s Snapshot) Verdict {
	if IsSuspended(s.Workload) {
		return s.suspended(len(living(s.Pods)))
	}
	workload := withNumericGeneration(s.Workload)
	c, reported := countsOf(workload), conditionsOf(workload)
	ready := reported.of("Ready")
	observed, _, _ := unstructured.NestedInt64(workload.Object, "status", "observedGeneration")
	v, ended := s.ended()
	updated := v.Complete && c.replicas >= 0 // Argo Rollouts sets Completed after each update: its pods run on
	if ended && !updated && !s.lags(observed) {
		return v
	}
	res, err := status.Compute(workload)
	switch {
	case err != nil: // conditions of another type
		return s.byPods(c)
	case res.Status == status.CurrentStatus && s.lags(ready.ObservedGeneration):
		return s.diagnose(run{pods: s.Pods, remark: s.notObserved()})
	case reported.of("UpgradeInProgress").isTrue(): // of a RayService, whose former cluster is Ready meanwhile
		return s.diagnose(run{pods: s.Pods, remark: "the upgrade is in progress"})
	case res.Status == status.CurrentStatus && ready.isTrue():
		return isReady("%s", cmp.Or(clip(res.Message), "ready"))
	case res.Status == status.CurrentStatus:
		return s.byPods(c)
	}
	return s.diagnose(run{pods: s.Pods, remark: cmp.Or(clip(res.Message), "not ready yet")}, func(d *diagnosis) *Cause {
		if res.Status != status.FailedStatus {
			return nil
		}
		return d.failed(res.Message)
	})
}

// NeedsPods reports whether readiness can be determined only from the pods,
// because the status of the workload does not include it.
func NeedsPods(workload *unstructured.Unstructured) bool {
	if readinessOf(workload) != kind.ByConventions {
		return false
	}
	return !IsSuspended(workload) && !countsOf(workload).ready && conditionsOf(workload).of("Ready").Type == ""
}

// counts contains the numbers of replicas that kinds of other projects share.
// Each is optional.
type counts struct {
	replicas int64 // requested by the spec, -1 if not set
	ready    bool  // whether the status includes the number of ready replicas
	behind   string
}

// IsSuspended reports whether a field of a workload suspends it.
func IsSuspended(workload *unstructured.Unstructured) bool {
	return slices.ContainsFunc(kind.SuspendFields(), func(path []string) bool {
		suspended, _, _ := unstructured.NestedBool(workload.Object, path...)
		return suspended
	})
}

// countsOf compares the numbers of replicas in the status, under the names that
// the kinds of Kubernetes use, with the number in the spec.
func countsOf(workload *unstructured.Unstructured) counts {
	replicas, ok, _ := unstructured.NestedInt64(workload.Object, "spec", "replicas")
	if !ok {
		return counts{replicas: -1}
	}
	c := counts{replicas: replicas}
	for _, field := range []string{"updatedReplicas", "readyReplicas", "availableReplicas"} {
		n, ok, _ := unstructured.NestedInt64(workload.Object, "status", field)
		if !ok {
			continue
		}
		c.ready = c.ready || field != "updatedReplicas"
		if n < replicas && c.behind == "" {
			c.behind = fmt.Sprintf("%s is %d of %d", field, n, replicas)
		}
	}
	return c
}

// withNumericGeneration returns an object with a numeric
// status.observedGeneration, as kstatus requires. Argo Rollouts writes the
// number as text, and wrote a hash in earlier versions
// (pkg/apis/rollouts/v1alpha1/types.go in github.com/argoproj/argo-rollouts).
func withNumericGeneration(u *unstructured.Unstructured) *unstructured.Unstructured {
	n, err := strconv.ParseInt(kind.TextAt(u.Object, "status", "observedGeneration"), 10, 64)
	if err != nil {
		return u
	}
	u = u.DeepCopy()
	_ = unstructured.SetNestedField(u.Object, n, "status", "observedGeneration")
	return u
}

// byPods assesses a workload whose status does not include readiness: by its
// counts of replicas, or otherwise by its pods.
func (s Snapshot) byPods(c counts) Verdict {
	alive := living(s.Pods)
	readyCount := readyPods(s.Pods)
	available := conditionsOf(s.Workload).of("Available")
	switch {
	case c.replicas == 0:
		return toZero(len(alive))
	case c.behind != "":
		return s.diagnose(run{pods: s.Pods, remark: c.behind})
	case available.isFalse():
		return s.diagnose(run{pods: s.Pods, remark: "not available" + available.suffix()})
	case readyCount < len(alive):
		return s.diagnose(run{pods: s.Pods, remark: "not ready yet"})
	case c.ready:
		return isReady("%d of %d replicas ready", c.replicas, c.replicas)
	case s.allSucceeded():
		return isReady("all pods have completed")
	case len(alive) == 0 || int64(len(alive)) < c.replicas:
		return s.diagnose(run{pods: s.Pods, remark: s.withoutStatus()})
	}
	return isReady("%d of %d pods ready", readyCount, len(alive))
}

// allSucceeded reports whether there are pods, and all have succeeded.
func (s Snapshot) allSucceeded() bool {
	return len(s.Pods) > 0 && !slices.ContainsFunc(s.Pods, func(p *corev1.Pod) bool {
		return p.Status.Phase != corev1.PodSucceeded
	})
}

// withoutStatus returns the progress of a workload without a useful status.
func (s Snapshot) withoutStatus() string {
	if s.Workload.Object["status"] == nil {
		return fmt.Sprintf("%s has no status and no pods yet", object(s.Workload))
	}
	return fmt.Sprintf("the status of %s does not show whether it is ready, and not all of its pods exist yet",
		object(s.Workload))
}
