package ready

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
)

// ray contains the relevant fields of a RayCluster
// (ray-operator/apis/ray/v1/raycluster_types.go).
type ray struct {
	Spec   raySpec   `json:"spec"`
	Status rayStatus `json:"status"`
}

type raySpec struct {
	EnableInTreeAutoscaling *bool `json:"enableInTreeAutoscaling"`
	WorkerGroupSpecs        []struct {
		Replicas    *int  `json:"replicas"`
		MinReplicas *int  `json:"minReplicas"`
		MaxReplicas *int  `json:"maxReplicas"`
		NumOfHosts  *int  `json:"numOfHosts"`
		Suspend     *bool `json:"suspend"`
	} `json:"workerGroupSpecs"`
}

type rayStatus struct {
	State                 string `json:"state"`
	Reason                string `json:"reason"`
	ReadyWorkerReplicas   int    `json:"readyWorkerReplicas"`
	DesiredWorkerReplicas int    `json:"desiredWorkerReplicas"`
	MinWorkerReplicas     int    `json:"minWorkerReplicas"`
}

// rayCluster is ready if its head and the currently requested workers are
// ready. KubeRay never resets the state ready, so the counts are checked too.
// It does not write a status that differs only in observedGeneration
// (ray-operator/controllers/ray/utils/consistency.go). That field is therefore
// not used: the number of workers shows whether KubeRay has observed a change.
func rayCluster(s Snapshot, r *ray) Verdict {
	st := r.Status
	workers, observed := st.DesiredWorkerReplicas, st.DesiredWorkerReplicas == r.Spec.workers()
	if ptr.Deref(r.Spec.EnableInTreeAutoscaling, false) {
		workers, observed = min(workers, st.MinWorkerReplicas), true // the autoscaler of Ray may request more
	}
	reported := conditionsOf(s.Workload)
	head := reported.of("HeadPodReady")
	switch {
	case IsSuspended(s.Workload):
		if st.State == "suspended" || reported.of("RayClusterSuspended").isTrue() {
			return s.suspended(0)
		}
		return s.suspended(max(1, len(living(s.Pods))))
	case observed && st.State == "ready" && !head.isFalse() && st.ReadyWorkerReplicas >= workers:
		return isReady("the head and %d of %d workers ready", st.ReadyWorkerReplicas,
			max(workers, st.ReadyWorkerReplicas))
	}
	remark := fmt.Sprintf("%d of %d workers ready", st.ReadyWorkerReplicas, workers)
	switch {
	case head.isFalse():
		remark += ", the head is not"
	case !observed:
		remark = s.notObserved()
	}
	return s.diagnose(run{desired: workers + 1, pods: s.Pods, remark: remark}, r.refused,
		func(d *diagnosis) *Cause {
			failure := reported.of("ReplicaFailure")
			switch {
			case failure.isTrue() && strings.HasPrefix(failure.Reason, failedCreate):
				return d.refusedBy(s.Workload.GetKind(), s.Workload.GetName(), failure.Message, false)
			case st.State == "failed":
				return d.failed(st.Reason)
			}
			return nil
		})
}

// workers returns the number of workers in the spec, as KubeRay counts them.
func (r raySpec) workers() int {
	sum := 0
	for _, group := range r.WorkerGroupSpecs {
		if ptr.Deref(group.Suspend, false) {
			continue
		}
		number := max(ptr.Deref(group.Replicas, 0), ptr.Deref(group.MinReplicas, 0))
		sum += min(number, ptr.Deref(group.MaxReplicas, number)) * ptr.Deref(group.NumOfHosts, 1)
	}
	return sum
}

// refused explains a RayCluster that KubeRay rejects. It then neither creates pods nor writes a status, without which
// an event alone does not end a wait. With the same reason, KubeRay 1.7 also warns of what it accepts
// (ray-operator/controllers/ray/raycluster_controller.go).
func (r *ray) refused(d *diagnosis) *Cause {
	e := d.events.latestWhere(func(e *corev1.Event) bool {
		return (e.Reason == "InvalidRayClusterSpec" || e.Reason == "InvalidRayClusterMetadata") &&
			strings.Contains(e.Message, "is invalid")
	})
	if e == nil || LastSeen(e).Before(lastApplied(d.Workload)) {
		return nil
	}
	c := d.cause(ReasonFailed, "KubeRay rejected the RayCluster: "+clip(e.Message), "Correct %s.", advice.Rejected)
	if r.Status != (rayStatus{}) || len(d.Pods) > 0 {
		return c
	}
	return c.terminal(shortGrace)
}
