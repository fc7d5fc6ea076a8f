package acctest

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	operators "github.com/ktdev/terraform-provider-kt/test/operator"
)

// Operator acts as the operator of SkyTorch or KPU does, in one namespace.
type Operator struct {
	Release operators.Release
	Group   string
	// Gateway reports whether a Compute is only ready with a route that a Gateway has accepted.
	Gateway bool
	// Address replaces that of the Gateway in the status of a Compute, which has no port. Empty: it does not.
	Address string
}

// SkyTorch returns an operator as SkyTorch, with a gateway. The cluster must serve the kinds of Gateway API.
func SkyTorch() Operator {
	return Operator{Release: operators.SkyTorch(), Group: "compute.skytorch.dev", Gateway: true}
}

// KPU returns an operator as KPU, without a gateway.
func KPU() Operator { return Operator{Release: operators.KPU(), Group: "compute.kpu.dev"} }

// WithComputes installs the CRDs of both operators in the cluster.
func (c *Cluster) WithComputes(t *testing.T) *Cluster {
	t.Helper()
	for _, operator := range []string{"skytorch", "kpu"} {
		c.Kubectl(t, "apply", "--server-side", "-f", Testdata(operator+"-compute-crd.yaml"))
	}
	c.Established(t, "computes.compute.skytorch.dev", "computes.compute.kpu.dev")
	return c
}

// Run reconciles every Compute of a namespace until the test ends.
func (o Operator) Run(t *testing.T, on *Cluster, ns string) {
	t.Helper()
	options := operators.Options{Release: o.Release, Namespace: ns, Address: o.Address}
	if o.Gateway {
		options.GatewayNamespace = ns
		acceptRoutes(t, on, ns)
	}
	operator, err := operators.New(t.Context(), on.Kubeconfig(), options)
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

// acceptRoutes creates a Gateway, and does what its controller does until the test ends: it programs the Gateway, and
// accepts each route a moment after it was created.
func acceptRoutes(t *testing.T, on *Cluster, ns string) {
	t.Helper()
	on.Apply(t, "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: "+operators.GatewayName+
		", namespace: "+ns+"}\nspec: {gatewayClassName: contour, listeners: [{name: http, port: 80, protocol: HTTP}]}")
	client, err := dynamic.NewForConfig(on.RESTConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	patch := func(ctx context.Context, of schema.GroupVersionResource, name, status string) error {
		_, err := client.Resource(of).Namespace(ns).Patch(ctx, name, types.MergePatchType, []byte(status),
			metav1.PatchOptions{FieldManager: "gateway"}, "status")
		return err
	}
	condition := func(of string) string {
		return `"conditions": [{"type": "` + of + `", "status": "True", "reason": "` + of +
			`", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]`
	}
	err = patch(t.Context(), operators.Gateways(), operators.GatewayName,
		`{"status": {"addresses": [{"type": "IPAddress", "value": "203.0.113.7"}], `+condition("Programmed")+`}}`)
	if err != nil {
		t.Fatal(err)
	}
	routes, err := client.Resource(operators.Routes()).Namespace(ns).
		Watch(context.WithoutCancel(t.Context()), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const accepted = 300 * time.Millisecond
	var running sync.WaitGroup
	running.Go(func() {
		for event := range routes.ResultChan() {
			route, ok := event.Object.(*unstructured.Unstructured)
			if !ok || event.Type != watch.Added {
				continue
			}
			time.Sleep(accepted)
			// An error is that the route has been deleted.
			_ = patch(context.WithoutCancel(t.Context()), operators.Routes(), route.GetName(),
				`{"status": {"parents": [{"controllerName": "projectcontour.io/gateway", "parentRef": {"kind": `+
					`"Gateway", "name": "`+operators.GatewayName+`"}, `+condition("Accepted")+`}]}}`)
		}
	})
	t.Cleanup(func() {
		routes.Stop()
		running.Wait()
	})
}
