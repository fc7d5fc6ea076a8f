package podstream

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// Source selects the pods of a compute.
type Source struct {
	Namespace string
	Labels    map[string]string
	Pod       string    // name of the only pod; "" means all
	CronJob   types.UID // of the CronJob whose Jobs control the pods; "" means any
}

// SourceOf selects the pods of a workload by their labels. A Pod is its only pod, and those of a CronJob are those of
// its Jobs, although others may have their labels. Without a workload, which is nil then, the labels alone select.
func SourceOf(namespace string, workload *unstructured.Unstructured, labels map[string]string) Source {
	source := Source{Namespace: namespace, Labels: labels}
	if workload == nil {
		return source
	}
	switch workload.GroupVersionKind().GroupKind() {
	case kind.Pod().GroupKind():
		source.Pod = workload.GetName()
	case kind.CronJob().GroupKind():
		source.CronJob = workload.GetUID()
	}
	return source
}

// Pods returns the pods of a source, sorted by name: from their shared list and watch, or from the server without
// permission to watch.
func (s Source) Pods(ctx context.Context, c *kube.Cluster) ([]*corev1.Pod, error) {
	pods, err := kube.Pods(ctx, c, s.Namespace, s.Labels)
	if s.Pod != "" {
		pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return pod.Name != s.Pod })
	}
	if s.CronJob == "" || len(pods) == 0 {
		return pods, err
	}
	jobs, err := kube.ListAs[batchv1.Job](ctx, c.Store, kind.Job().All(), s.Namespace, nil)
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return !slices.ContainsFunc(jobs, func(job *batchv1.Job) bool {
			of := metav1.GetControllerOf(job)
			return of != nil && of.UID == s.CronJob && metav1.IsControlledBy(pod, job)
		})
	}), err
}
