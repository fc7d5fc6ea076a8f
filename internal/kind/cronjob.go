package kind

import batchv1 "k8s.io/api/batch/v1"

// CronJob is batch/v1 CronJob.
func CronJob() Kind { return must("batch", "CronJob") }

func cronJob() Kind {
	return workload(batchv1.SchemeGroupVersion, "CronJob", &Workload{
		Complete: func(c Compute, workload map[string]any) {
			restartJob(workload, []string{"spec", "jobTemplate"})
			// Kueue reads it from the Jobs, which have the labels of the template
			for key, queue := range c.QueueLabels {
				SetDefault(workload, queue, "spec", "jobTemplate", "metadata", "labels", key)
			}
		},
		Groups:     always(Group{Template: []string{"spec", "jobTemplate", "spec", "template"}}),
		Unscaled:   true,
		Suspension: suspendField("spec", "suspend"),
		// A suspension affects only later runs
		// (https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#schedule-suspension).
		KeepsRunning: true,
		Refuses: map[Operation]Refusal{
			Restarting: refusal("Each run starts new pods.",
				"Wait for the next run, or trigger one, like `kubectl create job --from=cronjob/NAME`."),
			Scaling: refusal("The number of pods of a run is that of its Job.",
				"Change spec.jobTemplate.spec.parallelism of the object."),
		},
		RefusesSome: map[Operation]func(map[string]any) *Refusal{Evacuating: jobFails([]string{"spec", "jobTemplate"})},
		Children:    children(map[string]string{"Job": `^-\d+$`}),
		Readiness:   OfCronJob,
		Defaults: map[string]any{"concurrencyPolicy": "Allow", "failedJobsHistoryLimit": int64(1),
			"successfulJobsHistoryLimit": int64(3), "suspend": false},
	})
}
