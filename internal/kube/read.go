package kube

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// Read returns one object, from the shared collection of its kind and
// namespace where it is in it. An object outside of it (its label was removed,
// or it is not there at all) is fetched singly, so a NotFound is always the
// server's own word. Without the right to list, every object is fetched.
func (c *Cluster) Read(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	col := c.cache.collection(ref.Kind, ref.Namespace)
	if err := col.ready(ctx); err != nil && ClassOf(err) != Denied {
		return nil, err
	}
	if e, ok := col.get(ref.Name); ok {
		return e.object()
	}
	return c.Get(ctx, ref)
}

// podsOf returns the pods that carry all labels of selector.
func (c *Cluster) podsOf(ctx context.Context, namespace string, selector map[string]string) ([]*corev1.Pod, error) {
	col := c.cache.collection(Pod(), namespace)
	if err := col.ready(ctx); err != nil {
		return nil, err
	}
	return decodeAll[corev1.Pod](col.filter(func(e *entry) bool {
		for key, value := range selector {
			if e.Labels[key] != value {
				return false
			}
		}
		return true
	}))
}

// replicaSetsOf returns the ReplicaSets that a workload owns; never nil without
// an error.
func (c *Cluster) replicaSetsOf(ctx context.Context, workload *unstructured.Unstructured) ([]*appsv1.ReplicaSet, error) {
	col := c.cache.collection(ReplicaSet(), workload.GetNamespace())
	if err := col.ready(ctx); err != nil {
		return nil, err
	}
	all, err := decodeAll[appsv1.ReplicaSet](col.filter(func(e *entry) bool { return replicaSetOf(e.Name, workload.GetName()) }))
	return slices.DeleteFunc(all, func(rs *appsv1.ReplicaSet) bool { return !metav1.IsControlledBy(rs, workload) }), err
}

// warningsOf returns the warning events of a workload, its ReplicaSets, and the
// pods and claims that are known of it.
func (c *Cluster) warningsOf(ctx context.Context, known ready.Snapshot) ([]*corev1.Event, error) {
	workload := known.Workload.GetName()
	col := c.cache.collection(Event(), known.Workload.GetNamespace())
	if err := col.ready(ctx); err != nil {
		return nil, err
	}
	// Events are named after what they are about, which spares decoding those
	// of all other workloads of the namespace.
	all, err := decodeAll[corev1.Event](col.filter(func(e *entry) bool {
		about := e.Name[:max(0, strings.LastIndexByte(e.Name, '.'))]
		_, claim := known.Claims[about]
		return claim || about == workload || strings.HasPrefix(about, workload+"-")
	}))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(event *corev1.Event) bool { return !concerns(known, event.InvolvedObject) }), nil
}

// concerns says whether an event is about an object of the snapshot: that one,
// and none of the same name that was there before.
func concerns(known ready.Snapshot, about corev1.ObjectReference) bool {
	same := func(uid types.UID) bool { return uid == "" || about.UID == "" || uid == about.UID }
	switch about.Kind {
	case known.Workload.GetKind():
		return about.Name == known.Workload.GetName() && same(known.Workload.GetUID())
	case "ReplicaSet":
		if known.ReplicaSets == nil { // they may not be read
			return replicaSetOf(about.Name, known.Workload.GetName())
		}
		return slices.ContainsFunc(known.ReplicaSets, func(rs *appsv1.ReplicaSet) bool { return rs.Name == about.Name && same(rs.UID) })
	case "Pod":
		return slices.ContainsFunc(known.Pods, func(pod *corev1.Pod) bool { return pod.Name == about.Name && same(pod.UID) })
	case "PersistentVolumeClaim":
		claim, ok := known.Claims[about.Name]
		return ok && (claim == nil || same(claim.UID))
	}
	return false
}

// replicaSetOf says whether a ReplicaSet is named as the Deployment controller
// names its own: the Deployment's name and one more word, the template's hash.
func replicaSetOf(replicaSet, deployment string) bool {
	hash, ok := strings.CutPrefix(replicaSet, deployment+"-")
	return ok && !strings.Contains(hash, "-")
}

// nodes returns all nodes, nil where they may not be listed.
func (c *Cluster) nodes(ctx context.Context) []*corev1.Node {
	col := c.cache.collection(Node(), "")
	if err := col.ready(ctx); err != nil {
		return nil
	}
	nodes, err := decodeAll[corev1.Node](col.filter(func(*entry) bool { return true }))
	if err != nil {
		return nil
	}
	return nodes
}

func decodeAll[T any](entries []*entry) ([]*T, error) {
	out := make([]*T, 0, len(entries))
	for _, e := range entries {
		obj := new(T)
		if err := e.decode(obj); err != nil {
			return nil, err
		}
		out = append(out, obj)
	}
	return out, nil
}

func convert(obj *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, into)
}
