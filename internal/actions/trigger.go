package actions

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/runjob"
)

// trigger is kt_trigger. By default, it waits half an hour for its Job.
func trigger() action.Action {
	return &operation[waitModel, *waitModel]{
		name: "trigger",
		description: "Starts a Job of a CronJob now, like `kubectl create job --from`, and waits until it is " +
			"complete. The schedule of the CronJob does not change.",
		timeout: 30 * time.Minute,
		waits:   "until the Job is complete",
		invoke:  invokeTrigger,
	}
}

func invokeTrigger(ctx context.Context, c *call, t *target, m *waitModel) error {
	cannot := fmt.Sprintf("Cannot trigger %s", t)
	switch {
	case t.Workload == nil || t.Workload.GroupVersionKind().GroupKind() != kind.CronJob().GroupKind():
		return refused(cannot, "Only a CronJob starts Jobs.\n\nNext step: Set `name` to a compute that is a CronJob, "+
			"or use kt_run to run a command in the pods of this compute.")
	case t.Workload.GetDeletionTimestamp() != nil:
		return refused(cannot, "It is being deleted, and its Jobs with it.\n\nNext step: "+createAgain)
	}
	job := runjob.FromCronJob(t.Workload, rand.String(suffixLength))
	ref := kube.Ref{Kind: kind.Job(), Namespace: job.GetNamespace(), Name: job.GetName()}
	if _, err := c.cluster.Apply(ctx, job); err != nil {
		return err
	}
	c.did("Created %s", ref)
	return m.await(ctx, c, observe.Follow{Workload: &ref, Namespace: ref.Namespace, Report: c.report, Complete: true,
		PodLabels: map[string]string{batchv1.JobNameLabel: ref.Name}}, ref.String())
}
