package kind

import (
	"math"
	"slices"
)

// Ended reports whether a workload has run to its end by its conditions, or only waits for the end of its last pods
// (KEP-3998). Its controller then starts no more pods.
func Ended(workload map[string]any) bool {
	return failed(workload) || HasCondition(workload, "Complete", "Completed", "Succeeded", "SuccessCriteriaMet")
}

// failed reports whether a workload has ended because it failed, by its conditions or the status of a RayJob.
func failed(workload map[string]any) bool {
	return HasCondition(workload, "Failed", "FailureTarget") ||
		TextAt(workload, "status", "jobDeploymentStatus") == "Failed"
}

// HasCondition reports whether one of these conditions of an object is true.
func HasCondition(workload map[string]any, conditions ...string) bool {
	return slices.ContainsFunc(ListAt(workload, "status", "conditions"), func(condition map[string]any) bool {
		return TextAt(condition, "status") == "True" && slices.Contains(conditions, TextAt(condition, "type"))
	})
}

// NeedsNewRun reports whether only a new object can run the pods of a planned workload: the live one has ended, has
// other numbers of pods, or has failed with less retries or time than a change gives it, and fewer of the pods have
// succeeded. before is the last planned one: a policy may have lowered a limit, and a change of other fields runs
// nothing again.
func NeedsNewRun(of *Workload, planned, before, live map[string]any) bool {
	if !of.Ends { // nor do the groups of a kind that is not in the table have numbers
		return false
	}
	groups := of.Groups(planned)
	differs := func(path []string) bool {
		number, set := NumberAt(planned, path)
		running, _ := NumberAt(live, path)
		return set && number != running
	}
	more := func(limit string, absent int64) bool {
		wanted := limitOf(planned, limit, absent)
		return wanted > limitOf(live, limit, absent) && wanted != limitOf(before, limit, absent)
	}
	changes := slices.ContainsFunc(groups, func(g Group) bool { return slices.ContainsFunc(g.Numbers(), differs) }) ||
		failed(live) && (more("backoffLimit", 0) || more("activeDeadlineSeconds", math.MaxInt64))
	wanted, set := NumberAt(planned, []string{"spec", "completions"})
	if !set {
		wanted = PodCount(planned, groups)
	}
	return changes && Ended(live) && succeeded(live) < wanted
}

// limitOf returns a limit of a Job, RayJob or training job. Without a deadline, there is no limit. The number of
// retries without a limit depends on the kind, so only a planned one counts.
func limitOf(workload map[string]any, limit string, absent int64) int64 {
	for _, at := range [][]string{{"spec", limit}, {"spec", "runPolicy", limit}} {
		if number, set := NumberAt(workload, at); set {
			return number
		}
	}
	return absent
}

// succeeded returns the number of pods of a Job or training job that have succeeded. The training operator also counts
// those that ran when the job succeeded (PyTorchJobReconciler.Reconcile in pkg/controller.v1/pytorch).
func succeeded(workload map[string]any) int64 {
	sum, _ := NumberAt(workload, []string{"status", "succeeded"})
	for role := range FieldsAt(workload, "status", "replicaStatuses") {
		n, _ := NumberAt(workload, []string{"status", "replicaStatuses", role, "succeeded"})
		sum += n
	}
	return sum
}
