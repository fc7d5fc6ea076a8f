package kind

// rolling is the strategy of a rolling update with these limits.
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
