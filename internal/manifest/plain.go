package manifest

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds of Kubernetes itself, and JobSet, that only a manifest of the
// user's asks for.

func statefulSetKind() kind {
	return kind{
		mode: "statefulset", template: "statefulset", gvk: appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		container: ContainerName, groups: replicated(), scales: true, suspension: noReplicas(), selects: true,
		complete: func(c Compute, workload map[string]any) {
			name := c.Name
			if isDistributed(c) {
				name = HeadlessName(c.Name)
			}
			setDefault(workload, name, "spec", "serviceName")
		},
	}
}

func replicaSetKind() kind {
	return kind{
		mode: "replicaset", template: "replicaset", gvk: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
		container: ContainerName, groups: replicated(), scales: true, suspension: noReplicas(), selects: true, keepsPods: always,
	}
}

// SuspendedNodeLabel is a label that no node has. A suspended DaemonSet, which
// has no number of pods, asks for it.
const SuspendedNodeLabel = "kubetorch.com/suspended"

func daemonSetKind() kind {
	return kind{
		mode: "daemonset", template: "daemonset", gvk: appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
		container: ContainerName, groups: pods(group{template: []string{"spec", "template"}}), selects: true,
		suspension: []setting{{path: []string{"spec", "template", "spec", "nodeSelector", SuspendedNodeLabel}, value: "true"}},
	}
}

// podKind is a Pod, which is its own template and cannot be suspended.
func podKind() kind {
	return kind{
		mode: "pod", template: "pod", gvk: corev1.SchemeGroupVersion.WithKind("Pod"),
		container: ContainerName, groups: pods(group{}),
	}
}

func jobKind() kind {
	return kind{
		mode: "job", template: "job", gvk: batchv1.SchemeGroupVersion.WithKind("Job"),
		container: ContainerName, groups: pods(jobGroup(nil)), scales: true, suspension: suspendField("spec", "suspend"), admitted: true,
		complete: func(_ Compute, workload map[string]any) { restartJob(workload, nil) },
	}
}

func cronJobKind() kind {
	return kind{
		mode: "cronjob", template: "cronjob", gvk: batchv1.SchemeGroupVersion.WithKind("CronJob"),
		container:  ContainerName,
		groups:     pods(group{template: []string{"spec", "jobTemplate", "spec", "template"}}),
		suspension: suspendField("spec", "suspend"),
		complete: func(c Compute, workload map[string]any) {
			restartJob(workload, []string{"spec", "jobTemplate"})
			for key, queue := range queueLabels(c) { // Kueue reads it of the Jobs, which have the template's labels
				setDefault(workload, queue, "spec", "jobTemplate", "metadata", "labels", key)
			}
		},
	}
}

// jobSetKind is a JobSet, whose controller makes a headless Service for its
// pods. By default that has the name of ours, so it is given another.
func jobSetKind() kind {
	return kind{
		mode: "jobset", template: "jobset", gvk: schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"},
		container: ContainerName, groups: jobSetGroups, scales: true, suspension: suspendField("spec", "suspend"), admitted: true,
		complete: func(c Compute, workload map[string]any) {
			setDefault(workload, HeadlessName(c.Name), "spec", "network", "subdomain")
			for i := range listAt(workload, "spec", "replicatedJobs") {
				restartJob(workload, []string{"spec", "replicatedJobs", strconv.Itoa(i), "template"})
			}
		},
	}
}

func jobSetGroups(workload map[string]any) []group {
	var groups []group
	for i, job := range listAt(workload, "spec", "replicatedJobs") {
		g := jobGroup([]string{"spec", "replicatedJobs", strconv.Itoa(i), "template"})
		if jobs, ok := numberAt(job, []string{"replicas"}); ok {
			g.each = jobs
		}
		g.scaled = i == 0
		groups = append(groups, g)
	}
	return groups
}

// jobGroup are the pods of the Job at a path, all of which run at a time.
func jobGroup(job []string) group {
	return group{
		template: under(job, "spec", "template"), number: under(job, "spec", "parallelism"), also: under(job, "spec", "completions"),
		absent: 1, scaled: true,
	}
}

// restartJob gives the pods of the Job at a path a restart policy that a Job
// may have: where it has rules for failed pods, it may restart none itself.
func restartJob(workload map[string]any, job []string) {
	policy := corev1.RestartPolicyOnFailure
	if _, ok := find(workload, under(job, "spec", "podFailurePolicy")); ok {
		policy = corev1.RestartPolicyNever
	}
	setDefault(workload, string(policy), under(job, "spec", "template", "spec", "restartPolicy")...)
}

// setDefault sets what is not there, or is empty.
func setDefault(root map[string]any, value string, path ...string) {
	if there, _ := find(root, path); isEmpty(there) {
		setAt(root, path, value)
	}
}
