package actions

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

func restart() action.Action {
	return &operation[waitModel, *waitModel]{
		name: "restart",
		description: "Replaces the pods of a compute by new ones, like `kubectl rollout restart`. It waits until the " +
			"new pods are ready.",
		timeout:  defaultTimeout,
		waits:    "until the new pods are ready",
		requires: kind.Restarting,
		invoke:   invokeRestart,
	}
}

func invokeRestart(ctx context.Context, c *call, t *target, m *waitModel) error {
	if t.Workload != nil {
		paused, _ := kind.Find(t.Workload.Object, t.kind.Paused)
		switch verdict := ready.Assess(ready.Snapshot{Workload: t.Workload}); {
		case t.kind.Paused != nil && paused == true:
			return refused(fmt.Sprintf("Cannot restart %s", t), "Its rollouts are paused, so the restart would not "+
				"begin.\n\nNext step: Resume them with `"+t.ref.Kubectl("rollout resume")+"`.")
		case verdict.Suspended:
			c.progress("%s has no pods: %s. There is nothing to restart.", t, verdict.Message)
			return nil
		}
	}
	by := kind.ByDeletion
	if t.kind.Restart != nil {
		by = t.kind.Restart(t.Workload.Object)
	}
	var old []*corev1.Pod
	var err error
	if by == kind.ByTemplate {
		err = c.annotateTemplates(ctx, t, time.Now())
	} else {
		old, err = c.deletePods(ctx, t)
	}
	if err != nil {
		return err
	}
	return m.await(ctx, c, c.follow(t, old, old), fmt.Sprintf("%s was restarted", t))
}

// annotateTemplates sets the annotation that makes the controller replace the pods.
func (c *call) annotateTemplates(ctx context.Context, t *target, now time.Time) error {
	_, _, err := c.cluster.Modify(ctx, t.ref, func(obj *unstructured.Unstructured) error {
		for _, g := range t.kind.Groups(obj.Object) {
			kind.SetAt(obj.Object, kind.Under(g.Template, "metadata", "annotations", kind.RestartedAtAnnotation),
				now.Format(time.RFC3339))
		}
		return nil
	})
	if err == nil {
		c.did("Requested the restart of %s", t)
	}
	return err
}

// deletePods deletes all pods of the compute, and returns them. Its controller creates new ones.
func (c *call) deletePods(ctx context.Context, t *target) ([]*corev1.Pod, error) {
	pods, err := t.Pods(ctx, c.cluster)
	if err != nil {
		return nil, err
	}
	pods = running(pods)
	if err := requireControllers(kind.Restarting, t, pods); err != nil {
		return nil, err
	}
	if len(pods) == 0 {
		c.progress("%s has no pods to restart.", t)
		return nil, nil
	}
	c.progress("Deleting %s of %s, because its controller does not roll out restarts.",
		advice.Number(len(pods), "pod"), t)
	for i, pod := range pods {
		ref := kube.Ref{Kind: kind.Pod(), Namespace: pod.Namespace, Name: pod.Name}
		if err := c.cluster.DeleteInBackground(ctx, ref, pod.UID); err != nil {
			if i > 0 {
				c.note("Deleted %d of %s of %s", i, advice.Number(len(pods), "pod"), t)
			}
			return nil, err
		}
	}
	c.did("Deleted %s of %s, whose controller creates new ones", advice.Number(len(pods), "pod"), t)
	return pods, nil
}

// running returns the pods that have not ended and are not being deleted.
func running(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || ready.PodEnded(pod)
	})
}

// requireControllers returns an error if a pod has no controller, which would create it again.
func requireControllers(o kind.Operation, t *target, pods []*corev1.Pod) error {
	for _, pod := range pods {
		if metav1.GetControllerOf(pod) == nil {
			return refused(fmt.Sprintf("Cannot %s %s", o, t), fmt.Sprintf("Pod %s/%s has no controller, so nothing "+
				"would create it again.\n\nNext step: Use the tool that created the pod.", pod.Namespace, pod.Name))
		}
	}
	return nil
}
