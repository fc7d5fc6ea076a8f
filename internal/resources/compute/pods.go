package compute

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// running are the pods of a compute, for whoever waits for them.
type running struct {
	cluster   *kube.Cluster
	workload  *kube.Ref // nil where the pods exist already
	namespace string
	labels    map[string]string
}

// podsOf finds the pods of a compute with these objects.
func podsOf(ctx context.Context, cluster *kube.Cluster, m *model, made objects) (running, error) {
	pods := running{cluster: cluster, namespace: m.Namespace.ValueString(), labels: m.podLabels(ctx)}
	workload, err := made.workload()
	if err != nil || workload == nil {
		return pods, err
	}
	ref, err := cluster.RefOf(ctx, workload)
	pods.workload = &ref
	return pods, err
}

// selected are the pods of a compute that has no workload.
func (l *reader) selected(ctx context.Context) running {
	return running{cluster: l.Data.Cluster, namespace: l.State.Namespace.ValueString(), labels: l.State.podLabels(ctx)}
}

// wait waits until the pods are ready, or none are wanted, and says whether they
// are ready.
func (p running) wait(ctx context.Context) (bool, error) {
	var verdict ready.Verdict
	var err error
	if p.workload == nil {
		verdict, err = observe.WaitPods(ctx, p.cluster, p.namespace, p.labels)
	} else {
		verdict, err = observe.WaitReady(ctx, p.cluster, *p.workload, p.labels)
	}
	return err == nil && verdict.Ready, err
}

// ready reports whether the pods are ready now; false where that cannot be seen.
func (p running) ready(ctx context.Context) bool {
	var verdict ready.Verdict
	var err error
	if p.workload == nil {
		verdict, err = observe.AssessPods(ctx, p.cluster, p.namespace, p.labels)
	} else {
		verdict, err = observe.Assess(ctx, p.cluster, *p.workload, p.labels)
	}
	return err == nil && verdict.Ready
}

// podLabels select the pods of a compute.
func (m *model) podLabels(ctx context.Context) map[string]string {
	if m.Mode.ValueString() != kind.ModeSelector {
		return map[string]string{kind.ServiceLabel: m.Name.ValueString()}
	}
	d := decoder{ctx: ctx}
	return decodeMap(&d, m.Selector)
}

// hasSuspension reports whether the workload has a field that suspends it: it is
// or was suspended, or waits still for its queue. What a queue has released is
// its own from then on.
func hasSuspension(made objects) bool {
	workload, err := made.workload()
	if err != nil || workload == nil {
		return false
	}
	for _, path := range manifest.LeftAfterCreation(workload.GroupVersionKind()) {
		if _, found, _ := unstructured.NestedFieldNoCopy(workload.Object, path...); found {
			return true
		}
	}
	return false
}
