package compute

import (
	"context"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// pods are the pods of a compute.
type pods struct {
	cluster   *kube.Cluster
	workload  *kube.Ref // nil for existing pods
	namespace string
	labels    map[string]string
}

// podsOf returns the pods of a compute without a workload.
func podsOf(cluster *kube.Cluster, m *model) pods {
	return pods{cluster: cluster, namespace: m.Namespace.ValueString(), labels: m.podLabels()}
}

// wait waits until the pods are ready, or none are requested. It reports whether they are ready.
func (p pods) wait(ctx context.Context) (bool, error) {
	verdict, err := p.follow().Wait(ctx, p.cluster)
	return err == nil && verdict.Ready, err
}

// ready reports whether the pods are ready now. It is false if that cannot be determined.
func (p pods) ready(ctx context.Context) bool {
	verdict, err := p.follow().Assess(ctx, p.cluster)
	return err == nil && verdict.Ready
}

func (p pods) follow() observe.Follow {
	return observe.Follow{Workload: p.workload, Namespace: p.namespace, PodLabels: p.labels}
}

// podLabels returns the labels that select the pods of a compute.
func (m *model) podLabels() map[string]string {
	if m.Mode.ValueString() != kind.ModeSelector {
		return map[string]string{kind.ServiceLabel: m.Name.ValueString()}
	}
	return tf.Texts(m.Selector)
}
