package kind

// SpecDefaults returns the fields below spec that the API server sets to these values in a workload of Kubernetes that
// omits them (https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/). It is empty for other kinds.
func (k Kind) SpecDefaults() map[string]any {
	switch {
	case k.Readiness == OfDeployment:
		return map[string]any{"progressDeadlineSeconds": int64(600), "revisionHistoryLimit": int64(10),
			"strategy": rolling("25%", "25%")}
	case k.Readiness == OfStatefulSet:
		return map[string]any{"podManagementPolicy": "OrderedReady", "revisionHistoryLimit": int64(10),
			"updateStrategy": map[string]any{"type": "RollingUpdate",
				"rollingUpdate": map[string]any{"partition": int64(0)}},
			"persistentVolumeClaimRetentionPolicy": map[string]any{"whenDeleted": "Retain", "whenScaled": "Retain"}}
	case k.Readiness == OfDaemonSet:
		return map[string]any{"revisionHistoryLimit": int64(10), "updateStrategy": rolling(int64(0), int64(1))}
	case k.Readiness == OfCronJob:
		return map[string]any{"concurrencyPolicy": "Allow", "failedJobsHistoryLimit": int64(1),
			"successfulJobsHistoryLimit": int64(3), "suspend": false}
	case k.Readiness == OfJob:
		return map[string]any{"backoffLimit": int64(6), "completionMode": "NonIndexed", "completions": int64(1),
			"parallelism": int64(1), "podReplacementPolicy": "TerminatingOrFailed", "suspend": false,
			"manualSelector": false}
	default:
		return nil
	}
}

func rolling(surge, unavailable any) map[string]any {
	return map[string]any{"type": "RollingUpdate",
		"rollingUpdate": map[string]any{"maxSurge": surge, "maxUnavailable": unavailable}}
}

// PodDefaults returns the fields of the spec of a pod that the API server sets to these values if they are omitted.
func PodDefaults() map[string]any {
	return map[string]any{"dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "restartPolicy": "Always",
		"schedulerName": "default-scheduler", "terminationGracePeriodSeconds": int64(30)}
}

// ContainerDefaults is PodDefaults for a container, except the policy that depends on its image.
func ContainerDefaults() map[string]any {
	return map[string]any{"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
}

// ProbeDefaults is PodDefaults for a probe.
func ProbeDefaults() map[string]any {
	return map[string]any{"failureThreshold": int64(3), "periodSeconds": int64(10), "successThreshold": int64(1),
		"timeoutSeconds": int64(1)}
}

// GeneratedLabels are the labels that Kubernetes adds to the selector and the pods of a Job.
func GeneratedLabels() []string {
	return []string{"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"}
}
