package observe

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// EventFilter selects events. An empty field matches all events.
type EventFilter struct {
	Type    string // Normal or Warning
	Reasons []string
	Limit   int // number of the newest events; 0 means all
}

// Events returns the events of a workload, which can be nil, of its pods and
// their claims, and of the objects between them, oldest first. By default, the
// server keeps events for one hour.
func Events(
	ctx context.Context, c *kube.Cluster, namespace string, workload *unstructured.Unstructured, pods []*corev1.Pod,
	filter EventFilter,
) ([]*corev1.Event, error) {
	if workload == nil {
		workload = &unstructured.Unstructured{Object: map[string]any{}}
	}
	known := ready.Snapshot{Workload: workload, Pods: pods, Claims: claimNames(pods)}
	var selected []*corev1.Event
	options := metav1.ListOptions{}
	if filter.Type != "" {
		options.FieldSelector = fields.OneTermEqualSelector("type", filter.Type).String()
	}
	events := kube.Ref{Kind: kind.Event(), Namespace: namespace}
	err := kube.Each(ctx, c.API, events, options, func(event *corev1.Event) {
		wanted := len(filter.Reasons) == 0 || slices.Contains(filter.Reasons, event.Reason)
		if wanted && concerns(known, event) {
			selected = append(selected, event)
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(selected,
		func(a, b *corev1.Event) int { return ready.LastSeen(a).Compare(ready.LastSeen(b)) })
	if filter.Limit > 0 && len(selected) > filter.Limit {
		selected = selected[len(selected)-filter.Limit:]
	}
	return selected, nil
}

func claimNames(pods []*corev1.Pod) map[string]*corev1.PersistentVolumeClaim {
	claims := map[string]*corev1.PersistentVolumeClaim{}
	for _, pod := range pods {
		for _, name := range ready.ClaimNames(pod) {
			claims[name] = nil
		}
	}
	return claims
}
