package ready

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// anyKind assesses a kind that is not in the table: by kstatus if the status
// follows the conventions of conditions, by the counts of replicas, and
// otherwise by the pods.
func anyKind(s Snapshot) Verdict {
	c := customOf(s.Workload)
	res, err := status.Compute(c.object)
	switch {
	case c.suspended:
		return s.suspended(len(living(s.Pods)))
	case c.anyTrue("Complete", "Completed", "Succeeded"):
		return completed("complete")
	case c.anyTrue("Failed"):
		return s.failedRun(conditionOf(c.conditions, "Failed"))
	case err != nil: // conditions of another type
		return s.byPods(c)
	case res.Status == status.CurrentStatus && c.lags():
		return s.diagnose(run{pods: s.Pods, remark: s.notObserved()})
	case res.Status == status.CurrentStatus && c.anyTrue("Ready"):
		return isReady("%s", cmp.Or(clip(res.Message), "ready"))
	case res.Status == status.CurrentStatus:
		return s.byPods(c)
	}
	return s.diagnose(run{pods: s.Pods, remark: cmp.Or(clip(res.Message), "not ready yet")}, func(d *diagnosis) *Cause {
		if res.Status != status.FailedStatus {
			return nil
		}
		return d.workloadCause(ReasonFailed, fmt.Sprintf("%s has failed: %s", object(s.Workload), clip(res.Message)))
	})
}

// NeedsPods reports whether readiness can be determined only from the pods,
// because the status of the workload does not include it.
func NeedsPods(workload *unstructured.Unstructured) bool {
	if readinessOf(workload) != kind.ByConventions {
		return false
	}
	c := customOf(workload)
	return !c.suspended && !c.counts && conditionOf(c.conditions, "Ready").Type == ""
}

// custom contains the fields that kinds of other projects share. Each is
// optional.
type custom struct {
	object     *unstructured.Unstructured // with a generation in the format of kstatus
	conditions []condition
	suspended  bool
	replicas   int64 // requested by the spec, -1 if not set
	counts     bool  // whether the status includes the number of ready replicas
	behind     string
}

// customOf reads a workload without modifying it.
func customOf(workload *unstructured.Unstructured) custom {
	c := custom{object: withNumericGeneration(workload), replicas: -1, suspended: IsSuspended(workload)}
	items, _, _ := unstructured.NestedFieldNoCopy(workload.Object, "status", "conditions")
	list, _ := items.([]any)
	for _, item := range list {
		fields, _ := item.(map[string]any)
		var one condition
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &one) // a field of another type stays zero
		c.conditions = append(c.conditions, one)
	}
	if n, ok, _ := unstructured.NestedInt64(workload.Object, "spec", "replicas"); ok {
		c.replicas = n
		c.count()
	}
	return c
}

// IsSuspended reports whether a field of a workload suspends it.
func IsSuspended(workload *unstructured.Unstructured) bool {
	for _, path := range kind.SuspendFields() {
		if suspended, _, _ := unstructured.NestedBool(workload.Object, path...); suspended {
			return true
		}
	}
	return false
}

// count compares the numbers of replicas in the status, under the names that
// the kinds of Kubernetes use, with the number in the spec.
func (c *custom) count() {
	for _, field := range []string{"updatedReplicas", "readyReplicas", "availableReplicas"} {
		n, ok, _ := unstructured.NestedInt64(c.object.Object, "status", field)
		if !ok {
			continue
		}
		c.counts = c.counts || field != "updatedReplicas"
		if n < c.replicas && c.behind == "" {
			c.behind = fmt.Sprintf("%s is %d of %d", field, n, c.replicas)
		}
	}
}

func (c *custom) anyTrue(kinds ...string) bool {
	return slices.ContainsFunc(c.conditions,
		func(has condition) bool { return slices.Contains(kinds, has.Type) && has.isTrue() })
}

// lags reports whether the condition Ready belongs to an earlier generation.
func (c *custom) lags() bool {
	observed := conditionOf(c.conditions, "Ready").ObservedGeneration
	return observed > 0 && observed < c.object.GetGeneration()
}

// withNumericGeneration returns an object with a numeric
// status.observedGeneration, as kstatus requires. Argo Rollouts writes the
// number as text, and wrote a hash in earlier versions
// (pkg/apis/rollouts/v1alpha1/types.go in github.com/argoproj/argo-rollouts).
func withNumericGeneration(u *unstructured.Unstructured) *unstructured.Unstructured {
	field, _, _ := unstructured.NestedFieldNoCopy(u.Object, "status", "observedGeneration")
	text, _ := field.(string)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return u
	}
	u = u.DeepCopy()
	_ = unstructured.SetNestedField(u.Object, n, "status", "observedGeneration")
	return u
}

// byPods assesses a workload whose status does not include readiness: by its
// counts of replicas, or otherwise by its pods.
func (s Snapshot) byPods(c custom) Verdict {
	alive := living(s.Pods)
	readyCount := readyPods(s.Pods)
	available := conditionOf(c.conditions, "Available")
	switch {
	case c.replicas == 0:
		return toZero(len(alive))
	case c.behind != "":
		return s.diagnose(run{pods: s.Pods, remark: c.behind})
	case available.isFalse():
		return s.diagnose(run{pods: s.Pods, remark: "not available" + available.suffix()})
	case readyCount < len(alive):
		return s.diagnose(run{pods: s.Pods, remark: "not ready yet"})
	case c.counts:
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
