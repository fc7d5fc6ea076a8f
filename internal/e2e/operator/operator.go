// Package operator plays the part of SkyTorch's operator on a dev cluster, which is not available as a Go module: of
// each Compute it makes a StatefulSet and a Service, and reports how they are. The tests in internal/e2e and the demo
// run it beside a node where pods really run.
package operator

import (
	"context"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// interval is how often all Computes are looked at: there is a handful at most.
const interval = 300 * time.Millisecond

// Operator acts on the Computes of a cluster.
type Operator struct{ client dynamic.Interface }

// New connects to the cluster, which must have the kind.
func New(ctx context.Context, kubeconfig string) (*Operator, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if _, err := client.Resource(computes()).List(ctx, metav1.ListOptions{}); err != nil {
		return nil, fmt.Errorf("list Computes, of whose kind the cluster must have the CRD: %w", err)
	}
	return &Operator{client}, nil
}

// Run reconciles until the context ends, and logs what fails; it tries that again, as it does where somebody else wrote
// in between.
func (o *Operator) Run(ctx context.Context, log io.Writer) {
	_ = wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		list, err := o.client.Resource(computes()).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // the next look may find the cluster better
		}
		for i := range list.Items {
			if err := o.reconcile(ctx, &list.Items[i]); err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
				fmt.Fprintf(log, "%s: %v\n", list.Items[i].GetName(), err)
			}
		}
		return false, nil
	})
}
