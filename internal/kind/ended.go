package kind

import "slices"

// Ended reports whether a workload has run to its end by its conditions, or only waits for the end of its last pods
// (KEP-3998). Its controller then starts no more pods.
func Ended(workload map[string]any) bool {
	return slices.ContainsFunc(ListAt(workload, "status", "conditions"), func(condition map[string]any) bool {
		ends := []string{"Complete", "Completed", "Succeeded", "SuccessCriteriaMet", "Failed", "FailureTarget"}
		return TextAt(condition, "status") == "True" && slices.Contains(ends, TextAt(condition, "type"))
	})
}

// NeedsNewRun reports whether only a new object can run the pods of a planned workload: the live one has ended, has
// other numbers of pods or other limits of retries and time, and fewer of them have succeeded.
func NeedsNewRun(of *Workload, planned, live map[string]any) bool {
	if !of.Ends { // nor do the groups of a kind that is not in the table have numbers
		return false
	}
	groups := of.Groups(planned)
	differs := func(path []string) bool {
		number, set := NumberAt(planned, path)
		before, _ := NumberAt(live, path)
		return set && number != before
	}
	changes := slices.ContainsFunc(groups, func(g Group) bool { return slices.ContainsFunc(g.Numbers(), differs) })
	for _, limit := range []string{"backoffLimit", "activeDeadlineSeconds"} {
		changes = changes || differs([]string{"spec", limit}) || differs([]string{"spec", "runPolicy", limit})
	}
	wanted, set := NumberAt(planned, []string{"spec", "completions"})
	if !set {
		wanted = PodCount(planned, groups)
	}
	return changes && Ended(live) && succeeded(live) < wanted
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
