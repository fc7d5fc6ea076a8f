package manifest

import (
	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	"k8s.io/utils/ptr"
)

// Job runs the command of a compute until it succeeds, in an Indexed Job
// (https://kubernetes.io/docs/concepts/workloads/controllers/job/). Replicas is the number of pods that run at a time.
// Durations are in whole seconds.
type Job struct {
	Completions      *int32         // pods that must succeed; nil: Replicas
	BackoffLimit     *int32         // failed pods before the Job fails; nil: Kubernetes' default, 6
	ActiveDeadline   *time.Duration // after which a Job that still runs fails; nil: none
	TTL              *time.Duration // after the end, until the Job is deleted; nil: it is kept
	PodFailurePolicy []batchv1.PodFailurePolicyRule
}

// spec returns the fields of the spec of a Job, without its number of pods; nil for nil.
func (j *Job) spec() map[string]any {
	if j == nil {
		return nil
	}
	fields := toMap(&batchv1ac.JobSpecApplyConfiguration{
		Completions: j.Completions, BackoffLimit: j.BackoffLimit, ActiveDeadlineSeconds: secondsOf(j.ActiveDeadline),
	})
	if ttl := secondsOf(j.TTL); ttl != nil {
		fields["ttlSecondsAfterFinished"] = *ttl
	}
	if len(j.PodFailurePolicy) > 0 {
		policy := (&batchv1.PodFailurePolicy{Rules: j.PodFailurePolicy}).DeepCopy()
		for _, rule := range policy.Rules {
			for i, condition := range rule.OnPodConditions {
				rule.OnPodConditions[i].Status = cmp.Or(condition.Status, corev1.ConditionTrue) // Kubernetes' default
			}
		}
		fields["podFailurePolicy"] = toMap(policy)
	}
	return fields
}

// observeJob is the inverse of spec. The number of completions is nil if it is the number of pods.
func observeJob(workload map[string]any) *Job {
	spec := SpecOf[batchv1.JobSpec](workload)
	if spec == nil {
		return nil // a field is invalid, which the attribute manifests shows
	}
	j := &Job{BackoffLimit: spec.BackoffLimit}
	if spec.Completions != nil && !ptr.Equal(spec.Completions, spec.Parallelism) {
		j.Completions = spec.Completions
	}
	j.ActiveDeadline, j.TTL = fromSeconds(spec.ActiveDeadlineSeconds), fromSeconds(spec.TTLSecondsAfterFinished)
	if spec.PodFailurePolicy != nil {
		j.PodFailurePolicy = spec.PodFailurePolicy.Rules
	}
	return j
}

// Completions returns the number of pods of a Job that must succeed.
func (c Compute) Completions() int64 {
	if c.Job.Completions == nil {
		return c.Replicas
	}
	return int64(*c.Job.Completions)
}

// validateJob rejects attributes that exclude a Job, and a Job without a command.
func validateJob(c Compute, errs *Errors) {
	if c.Job == nil {
		return
	}
	for _, other := range c.setOf("autoscale", "distribute", "manifest", "selector") {
		errs.mutuallyExclusive("job", other, "each of them determines the workload")
	}
	if !c.runsOwnServer() && c.Manifest == nil {
		errs.report(At("job"), "Missing command", "job runs a command until it succeeds, but Kubetorch's server, "+
			"which runs without a command, never ends: set command or args too.").Concerning(At("command"), At("args"))
	}
	if c.ReplicasGiven && c.Replicas == 0 && c.Job.Completions == nil {
		errs.add("replicas", "is 0, but a Job of no pods is complete at once: set at least 1. To run none, set "+
			"suspend = true.").
			Concerning(At("job"), At("job", Name("completions")))
	}
	validateServiceOfJob(c, errs)
	validateWholeSeconds(At("job", Name("active_deadline")), ptr.Deref(c.Job.ActiveDeadline, 0), errs)
	validateWholeSeconds(At("job", Name("ttl")), ptr.Deref(c.Job.TTL, 0), errs)
	for i, rule := range c.Job.PodFailurePolicy {
		errs.exactlyOne(At("job", Name("pod_failure_policy"), Index(i)),
			choice{"on_exit_codes", rule.OnExitCodes != nil},
			choice{"on_pod_conditions", len(rule.OnPodConditions) > 0})
	}
}

// validateServiceOfJob rejects settings of the Service of a Job that has none.
func validateServiceOfJob(c Compute, errs *Errors) {
	reject := func(path Path) {
		errs.report(path, "Missing port", "%s applies to the Service, but a Job without port has none: set port too, "+
			"or remove it.", path).Concerning(At("port"))
	}
	if c.runsAlone() && c.Service != nil {
		reject(At("service"))
	}
	if c.runsAlone() && c.Endpoint != nil && c.Endpoint.Selector != nil {
		reject(At("endpoint", Name("selector")))
	}
}

// runsManyPods reports whether a Job runs several pods, which can find each other.
func (c Compute) runsManyPods() bool {
	replicas, _ := requestedReplicas(c)
	return c.Job != nil && replicas > 1
}

// runsAlone reports whether no client sends requests to the pods of a compute: those of a Job without a port.
func (c Compute) runsAlone() bool { return c.Job != nil && c.Port == 0 }
