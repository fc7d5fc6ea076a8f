package compute

import (
	"context"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// pods returns the pods of a compute with a workload, or existing ones if it is nil.
func (m *model) pods(workload *kube.Ref) observe.Follow {
	return observe.Follow{Workload: workload, Namespace: m.Namespace.ValueString(), PodLabels: m.podLabels(),
		Complete: m.WaitForCompletion.ValueBool()}
}

// areReady reports whether pods are ready now. It is false if that cannot be determined.
func areReady(ctx context.Context, cluster *kube.Cluster, pods observe.Follow) bool {
	verdict, err := pods.Assess(ctx, cluster)
	return err == nil && verdict.Ready && (verdict.Complete || !pods.Complete)
}

// podLabels returns the labels that select the pods of a compute.
func (m *model) podLabels() map[string]string {
	if m.Mode.ValueString() != kind.ModeSelector {
		return map[string]string{kind.ServiceLabel: m.Name.ValueString()}
	}
	return tf.Texts(m.Selector)
}
