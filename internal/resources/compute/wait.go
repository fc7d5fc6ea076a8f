package compute

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// completionTimeout is the default time that a workload with wait_for_completion may run.
const completionTimeout = 24 * time.Hour

// WaitTimeout returns the maximum start time of the server.
func (hooks) WaitTimeout(data *tf.ProviderData, plan *model) time.Duration {
	start := tf.DurationOr(plan.LaunchTimeout, data.Defaults.LaunchTimeout)
	if plan.WaitForCompletion.ValueBool() {
		return start + completionTimeout
	}
	return start
}

// waitReady waits for readiness according to on_not_ready, and saves the result.
func (w *writer) waitReady(ctx context.Context) {
	if w.Diags.HasError() || w.change.Interrupted {
		return
	}
	onNotReady := w.Plan.OnNotReady.ValueString()
	isReady, err := w.podsReady(ctx, onNotReady)
	w.reportNotReady(err)
	w.Plan.Ready = types.BoolValue(isReady && !w.Plan.Suspend.ValueBool())
	w.PrivateState.Unready = err != nil || onNotReady == ignoreOnNotReady && !isReady
	w.Save(ctx)
}

// podsReady waits for the pods, or only assesses them if on_not_ready is "ignore".
func (w *writer) podsReady(ctx context.Context, onNotReady string) (bool, error) {
	pods := w.Plan.pods(nil)
	if workload := workloadIn(w.change.Existing); workload != nil {
		ref, err := w.Data.Cluster.Discovery.RefOf(ctx, workload)
		if err != nil {
			return false, err
		}
		pods.Workload = &ref
		if err := w.startScaled(ctx, ref); err != nil {
			return false, err
		}
	}
	if onNotReady == ignoreOnNotReady {
		return w.Plan.areReady(ctx, w.Data.Cluster, pods.Workload), nil
	}
	if len(w.before) > 0 { // the status counts the new pods, but only once the controller has deleted the others
		pods.Replaced, pods.Others = w.before[:1], w.before[1:]
	}
	verdict, err := pods.Wait(ctx, w.Data.Cluster)
	isReady := err == nil && w.Plan.isReady(verdict)
	if isReady && pods.Workload != nil {
		w.warnIfUnqueued(ctx, pods)
		w.warnIfNotScaled(ctx)
	}
	return isReady, err
}

// requeues reports whether Kueue stops the running pods of the compute with an update, and admits it again. m is the
// state before.
func (m *model) requeues(ctx context.Context, c *kube.Cluster, before, after *unstructured.Unstructured) bool {
	return manifest.Requeues(before, after) &&
		observe.KueueRuns(ctx, c, after.GetNamespace(), apitypes.UID(m.UID.ValueString()))
}

// podsBefore returns the pods that an update to after replaces although the kind keeps them with others: those of a
// RayCluster with the upgrade strategy Recreate, or of a workload that Kueue admits again. Until its controller deletes
// them, the status is that of the workload before.
func (w *writer) podsBefore(ctx context.Context, before, after *unstructured.Unstructured) []apitypes.UID {
	keeps := kind.WorkloadOf(after.GroupVersionKind().GroupKind()).KeepsPods
	recreates := keeps != nil && !keeps(after.Object) && !manifest.SamePods(before, after)
	if !recreates && !w.Prior.requeues(ctx, w.Data.Cluster, before, after) {
		return nil
	}
	pods, err := kube.Pods(ctx, w.Data.Cluster, after.GetNamespace(), w.Plan.podLabels())
	if err != nil {
		return nil // the wait reports it
	}
	var living []apitypes.UID
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && !ready.PodEnded(pod) {
			living = append(living, pod.UID)
		}
	}
	return living
}

// warnIfUnqueued warns if the pods run beside the quota of their queue: the compute is ready, and looks as if the queue
// had admitted it.
func (w *writer) warnIfUnqueued(ctx context.Context, pods observe.Follow) {
	if w.Plan.QueueName.IsNull() || w.Plan.QueueScheduler.ValueString() == kind.QueueSchedulerKAI {
		return
	}
	ignored, err := observe.KueueIgnores(ctx, w.Data.Cluster, *pods.Workload, pods.PodLabels)
	if err != nil || !ignored {
		return // what cannot be read now was read by the wait
	}
	of := pods.Workload.Kind
	w.Diags.Append(queueWithoutEffect(fmt.Sprintf("The pods of %s run, but Kueue has no Workload for them: they are "+
		"not part of the quota of queue %s. The configuration of Kueue does not include the kind %s, or its "+
		"managedJobsNamespaceSelector excludes the namespace.", pods.Workload, w.Plan.QueueName.ValueString(), of.Kind),
		", change managedJobsNamespaceSelector so that it includes the namespace", of.GroupKind()))
}

// queueWithoutEffect warns that Kueue does not manage a compute. other is an alternative next step.
func queueWithoutEffect(why, other string, of schema.GroupKind) diag.Diagnostic {
	return diag.NewAttributeWarningDiagnostic(path.Root("queue_name"), "The queue has no effect",
		fmt.Sprintf("%s\n\nNext step: Add %q to integrations.frameworks of the configuration "+
			"(managerConfig.controllerManagerConfigYaml of Kueue's Helm chart)%s, or remove queue_name.",
			why, kind.KueueFramework(of), other))
}

// reportNotReady reports the error of a wait. After an error in a creation, Terraform taints the compute, and the next
// apply destroys it. Only a permanent failure is therefore an error.
func (w *writer) reportNotReady(err error) {
	const waitsAgain = "The compute is in state with `ready = false`. " +
		"The next apply waits for it again, and does not replace it."
	onNotReady := w.Plan.OnNotReady.ValueString()
	switch permanent := observe.IsPermanent(err); {
	case err == nil:
	case permanent && onNotReady == failOnNotReady:
		w.Diags.Append(w.Plan.omittedErrors(err, tf.Failure(err))...)
	case permanent:
		w.Diags.Append(tf.Warning(err,
			fmt.Sprintf("`on_not_ready = %q` makes this a warning. %s", onNotReady, waitsAgain)))
	default:
		w.Diags.Append(tf.Warning(err, waitsAgain))
	}
}
