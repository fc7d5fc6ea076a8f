package ready

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// training contains the relevant fields of a job of the Kubeflow training
// operator (pkg/apis/kubeflow.org/v1/common_types.go). Its status has no
// observed generation.
type training struct {
	Status struct {
		ReplicaStatuses map[string]struct {
			Active    int `json:"active"`
			Succeeded int `json:"succeeded"`
		} `json:"replicaStatuses"`
	} `json:"status"`
}

// trainingJob is ready if all its replicas are active and their pods ready, or
// if it has succeeded. The operator counts all running pods as active,
// including pods that crash repeatedly (pkg/core/status.go,
// UpdateJobReplicaStatuses).
func trainingJob(s Snapshot, t *training) Verdict {
	if v, ended := s.ended(); ended {
		return v
	}
	wanted, active, complete := 0, 0, true
	counts := []string{}
	for _, role := range slices.SortedFunc(slices.Values(groupsOf(s.Workload)),
		func(a, b kind.Group) int { return strings.Compare(a.Name, b.Name) }) {
		st, replicas := t.Status.ReplicaStatuses[role.Name], int(role.Count(s.Workload.Object))
		done := st.Active + st.Succeeded
		wanted, active = wanted+replicas, active+st.Active
		complete = complete && done >= replicas
		counts = append(counts, fmt.Sprintf("%d of %d %s", done, replicas, strings.ToLower(role.Name)))
	}
	tally := strings.Join(counts, ", ")
	reported := conditionsOf(s.Workload)
	switch {
	case IsSuspended(s.Workload):
		return s.suspended(active)
	case wanted == 0 && len(reported) > 0:
		return toZero(active)
	case reported.of("Running").isTrue() && complete &&
		(s.Pods == nil || readyPods(s.Pods) >= min(active, wanted)):
		return isReady("running: %s", tally)
	case len(reported) == 0:
		tally = "the training operator has not processed it yet"
	}
	if c := reported.of("Restarting"); c.isTrue() {
		tally = cmp.Or(clip(c.Message), "restarting")
	}
	return s.diagnose(run{desired: wanted, pods: s.Pods, remark: tally})
}

// set contains the relevant fields of a JobSet
// (api/jobset/v1alpha2/jobset_types.go).
type set struct {
	Status struct {
		ReplicatedJobsStatus []struct {
			Name      string `json:"name"`
			Ready     int    `json:"ready"`
			Succeeded int    `json:"succeeded"`
			Active    int    `json:"active"`
		} `json:"replicatedJobsStatus"`
	} `json:"status"`
}

// jobSet is ready if all its Jobs are ready, or if it is complete. Its status
// has no observed generation.
func jobSet(s Snapshot, j *set) Verdict {
	if v, ended := s.ended(); ended {
		return v
	}
	done, active := map[string]int{}, 0
	for _, st := range j.Status.ReplicatedJobsStatus {
		done[st.Name] = st.Ready + st.Succeeded
		active += st.Active
	}
	jobs, readyJobs, pods := 0, 0, 0
	for _, g := range groupsOf(s.Workload) {
		n := int(g.SetCount(s.Workload.Object))
		jobs += n
		readyJobs += min(n, done[g.Name])
		pods += int(g.Count(s.Workload.Object))
	}
	tally := fmt.Sprintf("%d of %d Jobs ready", readyJobs, jobs)
	switch {
	case IsSuspended(s.Workload):
		return s.suspended(active)
	case len(j.Status.ReplicatedJobsStatus) > 0 && readyJobs >= jobs:
		return isReady("%s", tally)
	case len(j.Status.ReplicatedJobsStatus) == 0:
		tally = "the JobSet controller has not processed it yet"
	}
	return s.diagnose(run{desired: pods, pods: s.Pods, remark: tally})
}
