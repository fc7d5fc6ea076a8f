package ready

import (
	"cmp"
	"fmt"
	"slices"
)

// rayJobFields contains the relevant fields of a RayJob (ray-operator/apis/ray/v1/rayjob_types.go).
type rayJobFields struct {
	Spec struct {
		RayClusterSpec raySpec `json:"rayClusterSpec"`
	} `json:"spec"`
	Status struct {
		JobStatus           string    `json:"jobStatus"`
		JobDeploymentStatus string    `json:"jobDeploymentStatus"`
		Reason              string    `json:"reason"`
		Message             string    `json:"message"`
		RayClusterStatus    rayStatus `json:"rayClusterStatus"`
	} `json:"status"`
}

// rayJob is ready while its job runs, and once it has succeeded. The status has no conditions. KubeRay reports a job
// that was stopped as complete (ray-operator/controllers/ray/rayjob_controller.go).
func rayJob(s Snapshot, r *rayJobFields) Verdict {
	st, cluster := r.Status, r.Status.RayClusterStatus
	switch {
	case st.JobDeploymentStatus == "Complete" && slices.Contains([]string{"STOPPED", "FAILED"}, st.JobStatus):
		return s.failedRun(condition{Reason: st.JobStatus, Message: st.Message})
	case st.JobDeploymentStatus == "Complete":
		return completed("complete")
	case st.JobDeploymentStatus == "Failed", st.JobDeploymentStatus == "ValidationFailed":
		return s.failedRun(condition{Reason: st.Reason, Message: st.Message})
	case IsSuspended(s.Workload):
		if st.JobDeploymentStatus == "Suspended" {
			return s.suspended(0)
		}
		return s.suspended(max(1, len(living(s.Pods))))
	case st.JobDeploymentStatus == "Running":
		return isReady("the Ray job is %s", clip(cmp.Or(st.JobStatus, "submitted")))
	case st.JobDeploymentStatus == "Waiting": // submissionMode InteractiveMode
		return isReady("waiting for the submission of a Ray job")
	}
	workers := r.Spec.RayClusterSpec.workers()
	remark := fmt.Sprintf("%d of %d workers ready", cluster.ReadyWorkerReplicas, workers)
	return s.diagnose(run{desired: workers + 1, pods: s.Pods, remark: remark})
}
