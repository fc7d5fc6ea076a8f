package compute

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// isAutoscaler reports whether an object sets the number of pods. One that is not planned is deleted before the
// workload is applied: it would change the number that the apply sets, and KEDA rejects a second autoscaler.
func isAutoscaler(obj *unstructured.Unstructured) bool { return roleOf(obj) == manifest.RoleAutoscaler }

// leaveReplicas gives up the number of pods of a workload before its first apply without one, which would reset it to
// one pod otherwise. The number of a suspended workload is reset, because no autoscaler changes zero.
func (w *writer) leaveReplicas(ctx context.Context, obj *unstructured.Unstructured) error {
	number := kind.WorkloadOf(obj.GroupVersionKind().GroupKind()).Scale
	if !w.Plan.scalesWorkload() || len(number) == 0 || w.Plan.Suspend.ValueBool() {
		return nil
	}
	cluster := w.Data.Cluster
	ref, err := cluster.Discovery.RefOf(ctx, obj)
	if err != nil {
		return err
	}
	live, err := cluster.API.Get(ctx, ref)
	if err != nil {
		return err
	}
	if pods, ok := kind.NumberAt(live.Object, number); !ok || pods == 0 {
		return nil
	}
	return owned.Leave(ctx, cluster, w.Memory, ref, live, number)
}

// startScaled starts the first pod of a workload if its autoscaler does not: a HorizontalPodAutoscaler is disabled
// while the workload requests none. KEDA, which it replaces, or another client has set that number.
func (w *writer) startScaled(ctx context.Context, workload kube.Ref) error {
	number := kind.WorkloadOf(workload.Kind.GroupKind()).Scale
	if !w.Plan.scalesWorkload() || w.Plan.startsFromZero() || len(number) == 0 || w.Plan.Suspend.ValueBool() {
		return nil
	}
	_, _, err := w.Data.Cluster.Modify(ctx, workload, func(obj *unstructured.Unstructured) error {
		if pods, ok := kind.NumberAt(obj.Object, number); ok && pods == 0 {
			kind.SetAt(obj.Object, number, int64(1))
		}
		return nil
	})
	return err
}

// warnIfNotScaled waits until the autoscaler can compute a number of pods, and warns if it cannot, or if it needs more
// pods than its maximum. The pods are ready, so this is no error.
func (w *writer) warnIfNotScaled(ctx context.Context) {
	scaler := withRole(w.change.Existing, manifest.RoleAutoscaler)
	if scaler == nil {
		return
	}
	ref, err := w.Data.Cluster.Discovery.RefOf(ctx, scaler)
	if err != nil {
		return // the wait for the pods has reported a failing API server
	}
	limited, err := observe.WaitAutoscaler(ctx, w.Data.Cluster, ref)
	switch failed, ok := errors.AsType[*observe.NotReadyError](err); {
	case ok:
		w.Diags.Append(tf.Warning(failed, "The pods of the compute run, but the autoscaler does not change their "+
			"number. No further apply is needed when the cause is corrected outside of the configuration."))
	case limited != nil:
		w.Diags.AddAttributeWarning(path.Root("autoscale"), "The autoscaler has reached its maximum",
			tf.Explain(tf.ComputeType, *limited, nil))
	}
}
