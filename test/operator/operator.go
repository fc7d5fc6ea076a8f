// Package operator simulates the operators of SkyTorch and KPU on a dev cluster, because they are not available as Go
// modules. For each Compute, it creates a StatefulSet and a Service, and reports their status. It has the same
// limitations as the real operators. The acceptance tests use it, and, with a real node, test/e2e and the demo.
package operator

import (
	"context"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// interval is the time between two reconciliations of all Computes. A cluster has only a few of them.
const interval = 300 * time.Millisecond

// Options configure the operator.
type Options struct {
	Release Release
	// Namespace is the namespace of the Computes. Empty means all namespaces.
	Namespace string
	// GatewayNamespace is the namespace of the Gateway, which a Compute then needs to be ready. Empty without routes,
	// as in KPU's operator: SkyTorch's is never without.
	GatewayNamespace string
	// Address replaces that of the Gateway in the status of a Compute. Empty: it does not.
	Address string
	// Place changes the pods like an admission policy, to schedule them on nodes that they do not select.
	Place func(*corev1.PodSpec)
}

// Operator reconciles the Computes of a cluster.
type Operator struct {
	Options

	client dynamic.Interface
}

// New connects to the cluster, which must serve the kind Compute.
func New(ctx context.Context, kubeconfig string, options Options) (*Operator, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no limit
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	o := &Operator{options, client}
	if _, err := o.list(ctx); err != nil {
		return nil, fmt.Errorf("list Computes (is the CRD installed?): %w", err)
	}
	return o, nil
}

// Run reconciles until the context is cancelled. It logs errors, except conflicts, and retries.
func (o *Operator) Run(ctx context.Context, log io.Writer) {
	_ = wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		computes, err := o.list(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // retried at the next interval
		}
		for i := range computes {
			if err := o.reconcile(ctx, &computes[i]); err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
				fmt.Fprintf(log, "%s: %v\n", computes[i].GetName(), err)
			}
		}
		return false, nil
	})
}
