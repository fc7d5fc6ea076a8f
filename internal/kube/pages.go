package kube

import (
	"context"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// PodNow returns one pod from the server, without the cache.
func PodNow(ctx context.Context, api *API, namespace, name string) (*corev1.Pod, error) {
	return As[corev1.Pod](api.Get(ctx, Ref{Kind: kind.Pod(), Namespace: namespace, Name: name}))
}

// PodsNow returns the pods that have all labels of selector, sorted by name, from the server, without the cache.
func PodsNow(ctx context.Context, api *API, namespace string, selector map[string]string) ([]*corev1.Pod, error) {
	var pods []*corev1.Pod
	options := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(selector).String()}
	err := Each(ctx, api, Ref{Kind: kind.Pod(), Namespace: namespace}, options,
		func(pod *corev1.Pod) { pods = append(pods, pod) })
	return sortedByName(pods), err
}

// Pods is PodsNow from the shared list and watch of [PodsWith], if there is permission to watch.
func Pods(ctx context.Context, c *Cluster, namespace string, selector map[string]string) ([]*corev1.Pod, error) {
	chosen := labels.SelectorFromSet(selector)
	pods, err := ListAs[corev1.Pod](ctx, c.Store, PodsWith(selector), namespace,
		func(e *Entry) bool { return chosen.Matches(labels.Set(e.Labels)) })
	if ClassOf(err) == Denied {
		return PodsNow(ctx, c.API, namespace, selector) // listing may be allowed without watching
	}
	return sortedByName(pods), err
}

// PodSource selects the pods of a compute, or of a Service.
type PodSource struct {
	Namespace string
	Labels    map[string]string
	// Workload is nil if the labels alone select. Otherwise, they select only its pods, although others may have their
	// labels.
	Workload *unstructured.Unstructured
	Pod      string // name of the only pod; "" means all
}

// Pods returns the pods of a source, sorted by name: from their shared list and watch, or from the server without
// permission to watch.
func (s PodSource) Pods(ctx context.Context, c *Cluster) ([]*corev1.Pod, error) {
	pods, err := Pods(ctx, c, s.Namespace, s.Labels)
	if err != nil {
		return nil, err
	}
	return s.Own(ctx, c, pods)
}

// Own returns those of the pods with the labels of a source that belong to it. It changes the slice.
func (s PodSource) Own(ctx context.Context, c *Cluster, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return s.Pod != "" && s.Pod != pod.Name || !kind.Controls(s.Workload, pod)
	})
	if s.Workload == nil || len(pods) == 0 || s.Workload.GroupVersionKind().GroupKind() != kind.CronJob().GroupKind() {
		return pods, nil
	}
	jobs, err := ListAs[batchv1.Job](ctx, c.Store, kind.Job().All(), s.Namespace, nil)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return !slices.ContainsFunc(jobs, func(job *batchv1.Job) bool {
			return metav1.IsControlledBy(job, s.Workload) && metav1.IsControlledBy(pod, job)
		})
	}), nil
}

// PodsWith returns the kind whose shared list and watch contains the pods with labels: those of Kubetorch's services,
// those of one Job, or otherwise all pods.
func PodsWith(labels map[string]string) Kind {
	pods := kind.Pod()
	switch job := labels[batchv1.JobNameLabel]; {
	case labels[kind.ServiceLabel] != "":
		return pods
	case job != "":
		pods.LabelSelector = batchv1.JobNameLabel + "=" + job
		return pods
	default:
		return pods.All()
	}
}

func sortedByName(pods []*corev1.Pod) []*corev1.Pod {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}
