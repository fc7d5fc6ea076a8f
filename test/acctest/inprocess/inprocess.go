// Package inprocess runs the provider in the process of a test, as the process of one command of Terraform: it ends in
// order, is interrupted, or is killed.
package inprocess

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	kubeconfig "github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/provider"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// Provider is a provider for one command.
type Provider struct {
	server      tfprotov6.ProviderServer
	completions *run.Completions
	cancel      context.CancelFunc
	killed      atomic.Bool
}

// New returns a provider that is not configured. It reads nothing of the environment of this process. The version is
// part of the User-Agent of its requests.
func New(ctx context.Context, version string) *Provider {
	p := &Provider{}
	p.completions = run.NewCompletions(func() bool { return !p.killed.Load() })
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	env := kubeconfig.Env{Getenv: func(string) string { return "" }}
	p.server = provider.NewServer(provider.NewWith(ctx, version, env, manifest.Revisions(), p.completions)())
	return p
}

// UserAgent returns the User-Agent of the requests of a provider with a version.
func UserAgent(version string) string { return "terraform-provider-kt/" + version }

// schemas are those of all providers here. To request them of each provider takes a tenth of the time of a short cycle.
var schemas = sync.OnceValues(func() (*core.Schemas, error) { //nolint:gochecknoglobals // has one value only
	p := New(context.Background(), "schema")
	defer p.Kill()
	return core.SchemasOf(context.Background(), p.server)
})

// NewResource returns a resource of a type that the provider has, and that does not exist.
func NewResource(name string) (*core.Resource, error) {
	all, err := schemas()
	if err != nil {
		return nil, err
	}
	return all.NewResource(name)
}

// Begin configures the provider with the attributes of the provider block.
func (p *Provider) Begin(ctx context.Context, block string) (*core.Command, error) {
	all, err := schemas()
	if err != nil {
		return nil, err
	}
	return all.Begin(ctx, p.server, block)
}

// Interrupt does what a signal to Terraform and its providers does: the operations in progress end soon.
func (p *Provider) Interrupt(ctx context.Context) {
	p.completions.Interrupt()
	_, _ = p.server.StopProvider(ctx, &tfprotov6.StopProviderRequest{}) // it has no errors
}

// Kill ends the provider at once. Its last requests may still be sent.
func (p *Provider) Kill() {
	p.killed.Store(true)
	p.cancel()
}

// flushTime is longer than the 1.5 s of a real provider, which tests on a busy machine may exceed.
const flushTime = 20 * time.Second

// End ends the provider after Terraform has written the state.
func (p *Provider) End(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if !p.killed.Load() {
		p.completions.Flush(ctx)
	}
	p.cancel()
}
