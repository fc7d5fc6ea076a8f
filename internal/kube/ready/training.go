package ready

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// training contains the relevant fields of a job of the Kubeflow training
// operator (pkg/apis/kubeflow.org/v1/common_types.go). Its status has no
// observed generation. The field of the replicas depends on the kind.
type training struct {
	Spec struct {
		RunPolicy struct {
			Suspend *bool `json:"suspend"`
		} `json:"runPolicy"`
		PyTorch map[string]replicaSpec `json:"pytorchReplicaSpecs"`
		TF      map[string]replicaSpec `json:"tfReplicaSpecs"`
		MX      map[string]replicaSpec `json:"mxReplicaSpecs"`
		XGB     map[string]replicaSpec `json:"xgbReplicaSpecs"`
	} `json:"spec"`
	Status struct {
		Conditions      []condition `json:"conditions"`
		ReplicaStatuses map[string]struct {
			Active    int `json:"active"`
			Succeeded int `json:"succeeded"`
		} `json:"replicaStatuses"`
	} `json:"status"`
}

type replicaSpec struct {
	Replicas *int32 `json:"replicas"`
}

// replicas returns the requested replicas by type: Master, Worker, PS, …
func (t *training) replicas() map[string]int {
	out := map[string]int{}
	for _, specs := range []map[string]replicaSpec{t.Spec.PyTorch, t.Spec.TF, t.Spec.MX, t.Spec.XGB} {
		for kind, spec := range specs {
			out[kind] = orOne(spec.Replicas)
		}
	}
	return out
}

// trainingJob is ready if all its replicas are active and their pods ready, or
// if it has succeeded. The operator counts all running pods as active,
// including pods that crash repeatedly (pkg/core/status.go,
// UpdateJobReplicaStatuses).
func trainingJob(s Snapshot, t *training) Verdict {
	conditions := t.Status.Conditions
	wanted, active, complete := 0, 0, true
	counts := []string{}
	replicas := t.replicas()
	for _, kind := range slices.Sorted(maps.Keys(replicas)) {
		st := t.Status.ReplicaStatuses[kind]
		done := st.Active + st.Succeeded
		wanted, active = wanted+replicas[kind], active+st.Active
		complete = complete && done >= replicas[kind]
		counts = append(counts, fmt.Sprintf("%d of %d %s", done, replicas[kind], strings.ToLower(kind)))
	}
	tally := strings.Join(counts, ", ")
	suspend := t.Spec.RunPolicy.Suspend
	switch {
	case conditionOf(conditions, "Succeeded").isTrue():
		return completed("complete")
	case conditionOf(conditions, "Failed").isTrue():
		return s.failedRun(conditionOf(conditions, "Failed"))
	case suspend != nil && *suspend:
		return s.suspended(active)
	case wanted == 0 && len(conditions) > 0:
		return toZero(active)
	case conditionOf(conditions, "Running").isTrue() && complete &&
		(s.Pods == nil || readyPods(s.Pods) >= min(active, wanted)):
		return isReady("running: %s", tally)
	case len(conditions) == 0:
		tally = "the training operator has not processed it yet"
	}
	if c := conditionOf(conditions, "Restarting"); c.isTrue() {
		tally = cmp.Or(clip(c.Message), "restarting")
	}
	return s.diagnose(run{desired: wanted, pods: s.Pods, remark: tally})
}

// set contains the relevant fields of a JobSet
// (api/jobset/v1alpha2/jobset_types.go).
type set struct {
	Spec struct {
		Suspend        *bool `json:"suspend"`
		ReplicatedJobs []struct {
			Name     string `json:"name"`
			Replicas *int32 `json:"replicas"`
			Template struct {
				Spec struct {
					Parallelism *int32 `json:"parallelism"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"replicatedJobs"`
	} `json:"spec"`
	Status struct {
		Conditions           []condition `json:"conditions"`
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
	done, active := map[string]int{}, 0
	for _, st := range j.Status.ReplicatedJobsStatus {
		done[st.Name] = st.Ready + st.Succeeded
		active += st.Active
	}
	jobs, readyJobs, pods := 0, 0, 0
	for _, r := range j.Spec.ReplicatedJobs {
		n := orOne(r.Replicas)
		jobs += n
		readyJobs += min(n, done[r.Name])
		pods += n * orOne(r.Template.Spec.Parallelism)
	}
	conditions := j.Status.Conditions
	tally := fmt.Sprintf("%d of %d Jobs ready", readyJobs, jobs)
	switch {
	case conditionOf(conditions, "Completed").isTrue():
		return completed("complete")
	case conditionOf(conditions, "Failed").isTrue():
		return s.failedRun(conditionOf(conditions, "Failed"))
	case j.Spec.Suspend != nil && *j.Spec.Suspend:
		return s.suspended(active)
	case len(j.Status.ReplicatedJobsStatus) > 0 && readyJobs >= jobs:
		return isReady("%s", tally)
	case len(j.Status.ReplicatedJobsStatus) == 0:
		tally = "the JobSet controller has not processed it yet"
	}
	return s.diagnose(run{desired: pods, pods: s.Pods, remark: tally})
}
