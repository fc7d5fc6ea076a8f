package actions

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

type scaleModel struct {
	waitModel
	Replicas types.Int64 `tfsdk:"replicas"`
}

func scale() action.Action {
	return &operation[scaleModel, *scaleModel]{
		name: "scale",
		description: "Sets the number of pods of a compute, and waits until they are ready. The next plan shows the " +
			"number as drift, unless the `kt_compute` has `lifecycle { ignore_changes = [replicas] }`, or " +
			"`[replicas, distribute]` for a RayCluster by `distribute`.",
		attributes: tf.Attributes{
			"replicas": tf.RequiredInteger("Number of pods, as `replicas` of a `kt_compute`.",
				int64validator.AtLeast(0)),
		},
		timeout:  defaultTimeout,
		waits:    "until the pods are ready",
		requires: kind.Scaling,
		invoke:   invokeScale,
	}
}

func invokeScale(ctx context.Context, c *call, t *target, m *scaleModel) error {
	replicas, before := m.Replicas.ValueInt64(), int64(0)
	admitted := manifest.Queued(t.Workload) && observe.KueueRuns(ctx, c.cluster, t.Namespace, t.Workload.GetUID())
	after, changed, err := c.cluster.Modify(ctx, t.ref, func(obj *unstructured.Unstructured) error {
		before = kind.PodCount(obj.Object, t.kind.Groups(obj.Object))
		if err := manifest.Scale(obj.Object, t.kind, replicas); err != nil {
			return err
		}
		if replicas > 0 && !manifest.IsSuspended(obj.Object, t.kind) {
			manifest.ForgetSuspension(obj.Object)
		}
		return nil
	})
	pods := advice.Number(replicas, "pod")
	switch {
	case err != nil:
		return resumeError(t, err)
	case !changed:
		c.progress("%s already has %s.", t, pods)
	default:
		c.did("Scaled %s from %d to %s", t, before, pods)
	}
	if replicas > 0 && manifest.IsSuspended(after.Object, t.kind) {
		c.progress("%s is suspended. It will have this number of pods when it is resumed.", t)
		return nil
	}
	var old []*corev1.Pod
	if admitted && manifest.Requeues(t.Workload, after) {
		c.progress("Kueue stops all pods, and starts new ones when the queue has enough quota for %s.", pods)
		all, _ := t.Pods(ctx, c.cluster) // the wait reports an error
		old = running(all)
	}
	return m.await(ctx, c, c.follow(t, old[:min(1, len(old))], old), fmt.Sprintf("%s has %s", t, pods))
}
