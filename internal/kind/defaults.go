package kind

// rolling is the strategy of a rolling update with these limits.
func rolling(surge, unavailable any) map[string]any {
	return map[string]any{"type": "RollingUpdate",
		"rollingUpdate": map[string]any{"maxSurge": surge, "maxUnavailable": unavailable}}
}

// GeneratedLabels are the labels that Kubernetes adds to the selector and the pods of a Job.
func GeneratedLabels() []string {
	return []string{"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"}
}
