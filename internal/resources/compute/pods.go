package compute

import (
	"context"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
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
	var verdict ready.Verdict
	var err error
	if p.workload == nil {
		verdict, err = observe.WaitPods(ctx, p.cluster, p.namespace, p.labels)
	} else {
		verdict, err = observe.WaitReady(ctx, p.cluster, *p.workload, p.labels)
	}
	return err == nil && verdict.Ready, err
}

// ready reports whether the pods are ready now. It is false if that cannot be determined.
func (p pods) ready(ctx context.Context) bool {
	var verdict ready.Verdict
	var err error
	if p.workload == nil {
		verdict, err = observe.AssessPods(ctx, p.cluster, p.namespace, p.labels)
	} else {
		verdict, err = observe.Assess(ctx, p.cluster, *p.workload, p.labels)
	}
	return err == nil && verdict.Ready
}

// podLabels returns the labels that select the pods of a compute.
func (m *model) podLabels() map[string]string {
	if m.Mode.ValueString() != kind.ModeSelector {
		return map[string]string{kind.ServiceLabel: m.Name.ValueString()}
	}
	return tf.Texts(m.Selector)
}
