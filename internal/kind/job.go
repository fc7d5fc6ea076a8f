package kind

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// job is batch/v1 Job. Its template and completions are mutable only in cases
// that the server determines.
func job() Kind {
	return workload(batchv1.SchemeGroupVersion, "Job", "jobs", &Workload{
		Mode:       "job",
		Template:   "job",
		Container:  ContainerName,
		Complete:   func(_ Compute, workload map[string]any) { restartJob(workload, nil) },
		Groups:     always(jobGroup(nil)),
		Unscaled:   true,
		Scales:     true,
		Suspension: suspendField("spec", "suspend"),
		Refuses:    runsToCompletion(),
		Admitted:   true,
		PodLabel:   batchv1.JobNameLabel,
		Readiness:  OfJob,
	},
		"spec.template", "spec.selector", "spec.completions", "spec.completionMode", "spec.podFailurePolicy",
		"spec.backoffLimitPerIndex", "spec.managedBy", "spec.successPolicy")
}

// jobGroup returns the group of the pods of the Job at a path, all of which run
// at the same time.
func jobGroup(job []string) Group {
	return Group{
		Template: Under(job, "spec", "template"),
		Number:   Under(job, "spec", "parallelism"), Absent: 1, Scaled: true,
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
