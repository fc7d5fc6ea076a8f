package main

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// waitingTime is the time after their creation at which the bench allows pods with the waiting label to be scheduled.
const waitingTime = 1500 * time.Millisecond

// conditioned are the kinds of which the bench writes the status, with the condition that makes them ready. Their real
// controllers are not in the dev cluster.
func conditioned() map[schema.GroupVersionResource]string {
	return map[schema.GroupVersionResource]string{
		{Group: "serving.knative.dev", Version: "v1", Resource: "services"}:      "Ready",
		{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "clusterqueues"}: "Active",
	}
}

// control does what controllers of other projects do in a cluster, until the context is cancelled.
func (c *cluster) control(ctx context.Context) {
	ticker := time.NewTicker(waitingTime / 5)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		// What fails is repeated at the next tick.
		c.admitWaitingPods(ctx)
		for resource, condition := range conditioned() {
			c.writeStatus(ctx, resource, condition)
		}
	}
}

// admitWaitingPods allows pods with the waiting label to be scheduled some time after their creation, as the controller
// of a queue does.
func (c *cluster) admitWaitingPods(ctx context.Context) {
	pods, err := c.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		LabelSelector: waitingLabel, FieldSelector: "spec.nodeName=",
	})
	if err != nil {
		return
	}
	for _, pod := range pods.Items {
		if len(pod.Spec.SchedulingGates) == 0 || time.Since(pod.CreationTimestamp.Time) < waitingTime {
			continue
		}
		patch := []byte(`[{"op": "remove", "path": "/spec/schedulingGates"}]`)
		_, _ = c.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.JSONPatchType, patch,
			metav1.PatchOptions{})
	}
}

// writeStatus sets a condition of objects whose status is older than their spec.
func (c *cluster) writeStatus(ctx context.Context, resource schema.GroupVersionResource, condition string) {
	list, err := c.dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, obj := range list.Items {
		if observedGeneration(obj.Object) == obj.GetGeneration() {
			continue
		}
		patch, err := json.Marshal(map[string]any{"status": map[string]any{
			"observedGeneration": obj.GetGeneration(), // pruned where the kind does not have it
			"conditions": []any{map[string]any{
				"type": condition, "status": "True", "reason": "Faults", "message": "set by the bench",
				"observedGeneration": obj.GetGeneration(),
				"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
			}},
		}})
		if err == nil {
			_, _ = c.dynamic.Resource(resource).Namespace(obj.GetNamespace()).Patch(ctx, obj.GetName(),
				types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "controller"}, "status")
		}
	}
}

// observedGeneration returns the generation of which the status was written, or 0.
func observedGeneration(obj map[string]any) int64 {
	if n, ok, _ := unstructured.NestedInt64(obj, "status", "observedGeneration"); ok {
		return n
	}
	conditions, _, _ := unstructured.NestedSlice(obj, "status", "conditions")
	for _, item := range conditions {
		if fields, ok := item.(map[string]any); ok {
			n, _, _ := unstructured.NestedInt64(fields, "observedGeneration")
			return n
		}
	}
	return 0
}

// awaitObserved waits until the controller has seen all Deployments of a namespace as they are.
func (c *cluster) awaitObserved(ctx context.Context, namespace string) error {
	const interval = 20 * time.Millisecond
	isOld := func(d appsv1.Deployment) bool { return d.Status.ObservedGeneration < d.Generation }
	return wait.PollUntilContextTimeout(ctx, interval, limit, true, func(ctx context.Context) (bool, error) {
		list, err := c.client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
		return err == nil && !slices.ContainsFunc(list.Items, isOld), err
	})
}
