package actions

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func suspend() action.Action {
	return &operation[waitModel, *waitModel]{
		name: "suspend",
		description: "Stops all pods of a compute, like the attribute `suspend` of a `kt_compute`, and keeps " +
			"everything else. It records in the annotation `" + kind.SuspendedAnnotation + "` of the workload what " +
			"`kt_resume` restores.",
		timeout:  defaultTimeout,
		waits:    "until all pods are gone",
		requires: kind.Suspending,
		invoke:   invokeSuspend,
	}
}

func invokeSuspend(ctx context.Context, c *call, t *target, m *waitModel) error {
	queue := ""
	_, changed, err := c.cluster.Modify(ctx, t.ref, func(obj *unstructured.Unstructured) error {
		queue = manifest.QueueOf(obj.Object, t.kind)
		if queue != "" || !manifest.IsSuspended(obj.Object, t.kind) {
			manifest.Suspend(obj.Object, t.kind)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case !changed:
		c.progress("%s is already suspended.", t)
	case queue != "":
		c.did("Suspended %s, and removed it from queue %s, which would start it again", t, queue)
	default:
		c.did("Suspended %s", t)
	}
	switch {
	case t.kind.KeepsRunning:
		c.progress("Pods that already run continue until they are complete.")
		return nil
	case !m.waits():
		return nil
	}
	continues := func(pod *corev1.Pod) bool { return kind.Controls(t.Workload, pod) && !ready.PodEnded(pod) }
	err = observe.WaitWhile(ctx, c.cluster, t.Namespace, t.Labels, continues, func(pods []*corev1.Pod) {
		c.progress("%s: %s left.", t, advice.Number(len(pods), "pod"))
	})
	if err == nil {
		c.progress("%s is suspended, and has no pods left.", t)
	}
	return err
}

type resumeModel struct {
	waitModel
	Replicas types.Int64 `tfsdk:"replicas"`
}

func resume() action.Action {
	return &operation[resumeModel, *resumeModel]{
		name: "resume",
		description: "Starts the pods of a suspended compute again, with what `kt_suspend` has recorded, and waits " +
			"until they are ready.",
		attributes: tf.Attributes{
			"replicas": tf.OptionalInteger("Number of pods, as `replicas` of a `kt_compute`. Defaults to the number "+
				"before `kt_suspend`. Required if the compute was suspended otherwise and its kind is suspended by "+
				"zero replicas, such as a Deployment.", int64validator.AtLeast(1)),
		},
		timeout:  defaultTimeout,
		waits:    "until the pods are ready",
		requires: kind.Suspending,
		invoke:   invokeResume,
	}
}

func invokeResume(ctx context.Context, c *call, t *target, m *resumeModel) error {
	if why, instead := c.refusal(ctx, t, kind.Scaling); why != "" && !m.Replicas.IsNull() {
		return &refusal{at: path.Root("replicas"), summary: fmt.Sprintf("Cannot scale %s", t),
			detail: explain(why, advice.Of("Remove `replicas`. %s", instead))}
	}
	held := false
	after, changed, err := c.cluster.Modify(ctx, t.ref, func(obj *unstructured.Unstructured) error {
		suspended := manifest.IsSuspended(obj.Object, t.kind)
		if held = suspended && manifest.QueueOf(obj.Object, t.kind) != ""; held || !suspended {
			return nil
		}
		manifest.ForgetStaleSuspension(obj, t.kind, kube.SetByAction)
		return manifest.Resume(obj.Object, t.kind, m.Replicas.ValueInt64()) // 0 for the number before the suspension
	})
	if err != nil {
		return resumeError(t, err)
	}
	switch queue := manifest.QueueOf(after.Object, t.kind); {
	case held:
		c.progress("%s is not suspended by a user: queue %s holds it, and starts it when it has quota.", t, queue)
	case !changed:
		c.progress("%s is not suspended.", t)
	case queue != "":
		c.did("Returned %s to queue %s, which starts it when it has quota", t, queue)
	case t.kind.Scales:
		c.did("Resumed %s with %s", t, advice.Number(kind.PodCount(after.Object, t.kind.Groups(after.Object)), "pod"))
	default:
		c.did("Resumed %s", t)
	}
	return m.await(ctx, c, c.follow(t, nil, nil), fmt.Sprintf("%s is running", t))
}

// pods formats a number of pods.
// resumeError returns an error of manifest.Resume or manifest.Scale at the attribute replicas, and other errors
// unchanged.
func resumeError(t *target, err error) error {
	var scale *manifest.ScaleError
	switch {
	case errors.Is(err, manifest.ErrReplicasUnknown):
		return &refusal{at: path.Root("replicas"), summary: "Unknown number of pods", detail: fmt.Sprintf(
			"%s was suspended by something other than `kt_suspend`, so the number of pods before that is not "+
				"recorded.\n\nNext step: Set `replicas`, or apply `suspend = false` if it is true in the kt_compute.",
			t)}
	case errors.As(err, &scale):
		next := "Use a number that this allows."
		switch {
		case scale.Fails:
			next = "Change the number in the configuration, and replace the compute."
		case scale.Each == 0:
			next = "Add workers to `manifest` of the kt_compute, and apply it."
		case scale.Least > 0:
			next = "Use a larger number, or stop all pods with `kt_suspend`."
		}
		return &refusal{at: path.Root("replicas"), summary: "Invalid number of pods", detail: fmt.Sprintf(
			"%s cannot have this number of pods: %v.\n\nNext step: %s", t, scale, next)}
	}
	return err
}
