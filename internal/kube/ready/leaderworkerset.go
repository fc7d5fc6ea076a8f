package ready

import (
	"fmt"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// groupSet is the relevant part of a LeaderWorkerSet
// (api/leaderworkerset/v1/leaderworkerset_types.go in sigs.k8s.io/lws).
type groupSet struct {
	Spec struct {
		Replicas *int32 `json:"replicas"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
		Replicas           int   `json:"replicas"`
		ReadyReplicas      int   `json:"readyReplicas"`
	} `json:"status"`
}

// leaderWorkerSet requires the condition Available, which the controller sets if
// all groups are ready and those above the partition are updated. The controller
// compares StatefulSets whose size may be about to change, so the pods count too.
// Before 0.9.0, it does not write status.observedGeneration: any condition then
// counts as an observation.
func leaderWorkerSet(s Snapshot, set *groupSet) Verdict {
	st, groups := set.Status, orOne(set.Spec.Replicas)
	pods := int(kind.PodCount(s.Workload.Object, groupsOf(s.Workload)))
	reported := conditionsOf(s.Workload)
	available := reported.of("Available").isTrue()
	unnumbered := st.ObservedGeneration == 0 && len(reported) > 0
	switch {
	case !unnumbered && !s.observed(st.ObservedGeneration, groups):
		return s.diagnose(run{desired: pods, pods: s.Pods, remark: s.notObserved()})
	case groups == 0:
		return toZero(max(st.Replicas, len(living(s.Pods))))
	case available && (s.Pods == nil || readyPods(s.Pods) >= pods):
		return isReady("%d of %d groups ready", st.ReadyReplicas, groups)
	}
	remark := fmt.Sprintf("%d of %d groups ready", st.ReadyReplicas, groups)
	return s.diagnose(run{desired: pods, pods: s.Pods, remark: remark})
}
