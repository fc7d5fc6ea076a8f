package kube

import (
	"context"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

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
