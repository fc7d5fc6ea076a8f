package acctest

import (
	"bytes"
	"context"
	"sync"
	"testing"

	operators "github.com/ktdev/terraform-provider-kt/test/operator"
)

// Operator acts as the operator of SkyTorch or KPU does, in one namespace.
type Operator struct {
	Release   operators.Release
	Group     string
	Addresses []any // of the gateway, if there is one
}

// SkyTorch returns an operator as SkyTorch, with a gateway.
func SkyTorch() Operator {
	return Operator{
		Release: operators.SkyTorch(), Group: "compute.skytorch.dev",
		Addresses: []any{map[string]any{"type": "IPAddress", "value": "203.0.113.7"}},
	}
}

// KPU returns an operator as KPU, without a gateway.
func KPU() Operator { return Operator{Release: operators.KPU(), Group: "compute.kpu.dev"} }

// WithComputes installs the CRDs of both operators in the cluster.
func (c *Cluster) WithComputes(t *testing.T) *Cluster {
	t.Helper()
	for _, operator := range []string{"skytorch", "kpu"} {
		c.Kubectl(t, "apply", "--server-side", "-f", Testdata(operator+"-compute-crd.yaml"))
	}
	c.Kubectl(t, "wait", "--for=condition=Established",
		"crd/computes.compute.skytorch.dev", "crd/computes.compute.kpu.dev")
	return c
}

// Run reconciles every Compute of a namespace until the test ends.
func (o Operator) Run(t *testing.T, on *Cluster, ns string) {
	t.Helper()
	operator, err := operators.New(t.Context(), on.Kubeconfig(),
		operators.Options{Release: o.Release, Namespace: ns, Addresses: o.Addresses})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var log bytes.Buffer
	var running sync.WaitGroup
	running.Go(func() { operator.Run(ctx, &log) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if t.Failed() {
			t.Logf("log of the operator:\n%s", log.String())
		}
	})
}
