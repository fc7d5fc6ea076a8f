package acctest_test

import (
	"bytes"
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
	operators "github.com/ktdev/terraform-provider-kt/internal/e2e/operator"
)

// An operator plays the part of SkyTorch's or KPU's in one namespace.
type operator struct {
	release   operators.Release
	group     string
	addresses []any // those of the gateway, if it knows one
}

func skyTorch() operator {
	return operator{
		release: operators.SkyTorch(), group: "compute.skytorch.dev",
		addresses: []any{map[string]any{"type": "IPAddress", "value": "203.0.113.7"}},
	}
}

func kpu() operator { return operator{release: operators.KPU(), group: "compute.kpu.dev"} }

// withComputes is the cluster that has the kinds of both operators.
func withComputes(t *testing.T) *acctest.Cluster {
	t.Helper()
	on := withCRDs.Get(t)
	for _, of := range []string{"skytorch", "kpu"} {
		on.Kubectl(t, "apply", "--server-side", "-f", filepath.Join("testdata", of+"-compute-crd.yaml"))
	}
	on.Kubectl(t, "wait", "--for=condition=Established", "crd/computes.compute.skytorch.dev", "crd/computes.compute.kpu.dev")
	return on
}

// play acts on every Compute of a namespace until the test ends.
func (o operator) play(t *testing.T, on *acctest.Cluster, ns string) {
	t.Helper()
	played, err := operators.New(t.Context(), on.Kubeconfig, operators.Options{Release: o.release, Namespace: ns, Addresses: o.addresses})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var log bytes.Buffer
	var running sync.WaitGroup
	running.Go(func() { played.Run(ctx, &log) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if t.Failed() {
			t.Logf("the operator:\n%s", log.String())
		}
	})
}
