package kind

import (
	"fmt"
	"maps"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
)

// Job is batch/v1 Job.
func Job() Kind { return must("batch", "Job") }

// job is batch/v1 Job. Its template and completions are mutable only in cases
// that the server determines.
func job() Kind {
	return workload(batchv1.SchemeGroupVersion, "Job", &Workload{
		Picks:          func(c Compute) bool { return c.Job != nil },
		Spec:           jobSpec,
		ReadAsManifest: true,
		Ends:           true,
		Complete:       func(_ Compute, workload map[string]any) { restartJob(workload, nil) },
		Groups:         always(jobGroup(nil)),
		Unscaled:       true,
		Scales:         true,
		Suspension:     suspendField("spec", "suspend"),
		Refuses:        runsToCompletion(),
		RefusesSome: map[Operation]func(map[string]any) *Refusal{
			Scaling: fixedCompletions, Evacuating: jobFails(nil),
		},
		Admitted:  true,
		PodLabel:  batchv1.JobNameLabel,
		Readiness: OfJob,
		Defaults: map[string]any{"backoffLimit": int64(6), "completionMode": "NonIndexed", "completions": int64(1),
			"parallelism": int64(1), "podReplacementPolicy": "TerminatingOrFailed", "suspend": false,
			"manualSelector": false},
	},
		"spec.template", "spec.selector", "spec.completions", "spec.completionMode", "spec.podFailurePolicy",
		"spec.backoffLimitPerIndex", "spec.managedBy", "spec.successPolicy")
}

// jobSpec runs each pod once: a failed pod is kept with its log, and its replacement may run on another node. The pods
// are indexed, so that their number can change.
func jobSpec(c Compute) map[string]any {
	spec := map[string]any{"parallelism": c.Replicas, "completions": c.Replicas,
		"completionMode": string(batchv1.IndexedCompletion)}
	maps.Copy(spec, c.Job)
	SetAt(spec, []string{"template", "spec", "restartPolicy"}, string(corev1.RestartPolicyNever))
	if c.Subdomain != "" {
		SetAt(spec, []string{"template", "spec", "subdomain"}, c.Subdomain)
	}
	return spec
}

// fixedCompletions refuses to change the number of pods of a Job with a number of completions, which is mutable only if
// it is Indexed (https://kubernetes.io/docs/concepts/workloads/controllers/job/#elastic-indexed-jobs).
func fixedCompletions(workload map[string]any) *Refusal {
	_, set := NumberAt(workload, []string{"spec", "completions"})
	if !set || TextAt(workload, "spec", "completionMode") == string(batchv1.IndexedCompletion) {
		return nil
	}
	return new(refusal("Its number of completions is immutable, because its `spec.completionMode` is not `Indexed`.",
		"%s after you have changed its number of pods.", advice.ReplaceObject))
}

// jobFails refuses to evict pods of the Job at a path if it fails with the first failed pod.
func jobFails(job []string) func(workload map[string]any) *Refusal {
	return func(workload map[string]any) *Refusal {
		if !failsWithOnePod(workload, job) {
			return nil
		}
		return failsWith(fmt.Sprintf("Its `%s` is 0.", strings.Join(Under(job, "spec", "backoffLimit"), ".")))
	}
}

// failsWithOnePod reports whether the Job at a path fails with its first failed pod, even if that pod was evicted
// (https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy).
func failsWithOnePod(workload map[string]any, job []string) bool {
	limit, set := NumberAt(workload, Under(job, "spec", "backoffLimit"))
	_, policy := Find(workload, Under(job, "spec", "podFailurePolicy"))
	return set && limit == 0 && !policy
}

// jobGroup returns the group of the pods of the Job at a path, all of which run
// at the same time. A Job of no pods is complete at once.
func jobGroup(job []string) Group {
	return Group{
		Template: Under(job, "spec", "template"),
		Number:   Under(job, "spec", "parallelism"), Absent: 1, AtLeast: 1, Scaled: true,
		Also: Under(job, "spec", "completions"),
	}
}

// restartJob sets a restart policy that is valid for the pods of the Job at a
// path. With rules for failed pods, it must be Never.
func restartJob(workload map[string]any, job []string) {
	policy := corev1.RestartPolicyOnFailure
	if _, ok := Find(workload, Under(job, "spec", "podFailurePolicy")); ok {
		policy = corev1.RestartPolicyNever
	}
	SetDefault(workload, string(policy), Under(job, "spec", "template", "spec", "restartPolicy")...)
}

// GeneratedLabels are the labels that Kubernetes adds to the selector and the pods of a Job.
func GeneratedLabels() []string {
	return []string{"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"}
}
