// Package operator plays the part of the operators of SkyTorch and KPU on a dev cluster, which are not available as Go
// modules: of each Compute it makes a StatefulSet and a Service, and reports how they are. It leaves out what they leave
// out. The acceptance tests run it, and beside a node where pods really run those in internal/e2e and the demo.
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

// interval is how often all Computes are looked at: there is a handful at most.
const interval = 300 * time.Millisecond

// Options say what the operator acts on.
type Options struct {
	Release Release
	// Namespace is where it acts; "" is everywhere.
	Namespace string
	// Addresses are those of the gateway, as the status of a Compute names them; none without a gateway.
	Addresses []any
	// Place changes the pods as an admission policy of the cluster would, to put them on nodes that they do not select.
	Place func(*corev1.PodSpec)
}

// Operator acts on the Computes of a cluster.
type Operator struct {
	Options

	client dynamic.Interface
}

// New connects to the cluster, which must have the kind.
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
		return nil, fmt.Errorf("list Computes, of whose kind the cluster must have the CRD: %w", err)
	}
	return o, nil
}

// Run reconciles until the context ends, and logs what fails; it tries that again, as it does where somebody else wrote
// in between.
func (o *Operator) Run(ctx context.Context, log io.Writer) {
	_ = wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		computes, err := o.list(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // the next look may find the cluster better
		}
		for i := range computes {
			if err := o.reconcile(ctx, &computes[i]); err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
				fmt.Fprintf(log, "%s: %v\n", computes[i].GetName(), err)
			}
		}
		return false, nil
	})
}
