package provider

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// FrameworkRequests counts the requests that the framework handles, by method and resource type.
type FrameworkRequests struct {
	mu     sync.Mutex
	counts map[string]int
}

// Reset sets all counts to zero, and returns what they were.
func (r *FrameworkRequests) Reset() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.counts
	r.counts = nil
	return counts
}

func (r *FrameworkRequests) add(request string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	r.counts[request]++
}

// NewCountingServer is like NewServer, and counts the requests that the framework handles.
func NewCountingServer(p provider.Provider, requests *FrameworkRequests) tfprotov6.ProviderServer {
	framework, _ := providerserver.NewProtocol6(p)().(frameworkServer)
	own, _ := p.(*kt)
	return newServer(&countingServer{frameworkServer: framework, requests: requests}, own, nil)
}

// countingServer counts from the configuration of the provider on. `terraform validate` does not configure it.
type countingServer struct {
	frameworkServer

	requests   *FrameworkRequests
	configured atomic.Bool
}

func (c *countingServer) count(request string) {
	if c.configured.Load() {
		c.requests.add(request)
	}
}

func (c *countingServer) ConfigureProvider(
	ctx context.Context, req *tfprotov6.ConfigureProviderRequest,
) (*tfprotov6.ConfigureProviderResponse, error) {
	c.configured.Store(true)
	return c.frameworkServer.ConfigureProvider(ctx, req)
}

func (c *countingServer) UpgradeResourceState(
	ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	c.count("upgrade " + req.TypeName)
	return c.frameworkServer.UpgradeResourceState(ctx, req)
}

func (c *countingServer) ValidateResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	c.count("validate " + req.TypeName)
	return c.frameworkServer.ValidateResourceConfig(ctx, req)
}

func (c *countingServer) ReadResource(
	ctx context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	c.count("read " + req.TypeName)
	return c.frameworkServer.ReadResource(ctx, req)
}

func (c *countingServer) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	c.count("plan " + req.TypeName)
	return c.frameworkServer.PlanResourceChange(ctx, req)
}
