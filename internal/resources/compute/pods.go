package compute

import (
	"context"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// pods returns the pods of a compute with a workload, or existing ones if it is nil.
func (m *model) pods(workload *kube.Ref) observe.Follow {
	return observe.Follow{Workload: workload, Namespace: m.Namespace.ValueString(), PodLabels: m.podLabels(),
		Complete: m.WaitForCompletion.ValueBool()}
}

// areReady reports whether the pods of a workload, or existing ones if it is nil, are ready now. It is false if that
// cannot be determined.
func (m *model) areReady(ctx context.Context, cluster *kube.Cluster, workload *kube.Ref) bool {
	verdict, err := m.pods(workload).Assess(ctx, cluster)
	return err == nil && m.isReady(verdict)
}

// isReady reports whether a compute with a verdict is ready. One that its autoscaler has scaled to zero is, and one
// with wait_for_completion only at its end.
func (m *model) isReady(v ready.Verdict) bool {
	ended := v.Complete || !m.WaitForCompletion.ValueBool()
	return v.Ready && ended || v.Suspended && m.startsFromZero()
}

// podLabels returns the labels that select the pods of a compute.
func (m *model) podLabels() map[string]string {
	if m.Mode.ValueString() != kind.ModeSelector {
		return map[string]string{kind.ServiceLabel: m.Name.ValueString()}
	}
	return tf.Texts(m.Selector)
}
