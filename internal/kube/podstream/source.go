package podstream

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// Source selects the pods of a compute.
type Source struct {
	Namespace string
	Labels    map[string]string
	// Workload is nil if the labels alone select. Otherwise, they select only its pods, although others may have their
	// labels.
	Workload *unstructured.Unstructured
	Pod      string // name of the only pod; "" means all
}

// Pods returns the pods of a source, sorted by name: from their shared list and watch, or from the server without
// permission to watch.
func (s Source) Pods(ctx context.Context, c *kube.Cluster) ([]*corev1.Pod, error) {
	pods, err := kube.Pods(ctx, c, s.Namespace, s.Labels)
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return s.Pod != "" && s.Pod != pod.Name || !kind.Controls(s.Workload, pod)
	})
	if s.Workload == nil || len(pods) == 0 || s.Workload.GroupVersionKind().GroupKind() != kind.CronJob().GroupKind() {
		return pods, err
	}
	jobs, err := kube.ListAs[batchv1.Job](ctx, c.Store, kind.Job().All(), s.Namespace, nil)
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return !slices.ContainsFunc(jobs, func(job *batchv1.Job) bool {
			return metav1.IsControlledBy(job, s.Workload) && metav1.IsControlledBy(pod, job)
		})
	}), err
}
