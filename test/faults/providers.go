package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
	"github.com/ktdev/terraform-provider-kt/test/acctest/inprocess"
	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// providers are the providers of one command. Terraform plans with one, and applies with another.
type providers struct {
	cycle   *pairCycle
	ctx     context.Context //nolint:containedctx // of the command
	version string

	mu          sync.Mutex
	count       int
	current     *inprocess.Provider
	interrupted bool
	dead        bool
	killed      chan struct{} // closed by a fault
}

// errInterrupted is the error of a command that was interrupted before it began to apply.
var errInterrupted = errors.New("interrupted")

// begin starts the next provider, and ends the one before it.
func (p *providers) begin() (*core.Command, error) {
	p.end()
	provider, err := p.next()
	if err != nil {
		return nil, err
	}
	return provider.Begin(p.ctx, p.cycle.block())
}

func (p *providers) next() (*inprocess.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.dead:
		return nil, errKilled
	case p.interrupted:
		return nil, errInterrupted
	}
	p.count++
	version := fmt.Sprintf("%s-%d", p.version, p.count)
	p.current = inprocess.New(p.ctx, version)
	p.cycle.proxy.Admit(inprocess.UserAgent(version))
	return p.current, nil
}

// end ends the current provider in order.
func (p *providers) end() {
	p.mu.Lock()
	provider := p.current
	p.mu.Unlock()
	if provider != nil {
		provider.End(p.ctx)
	}
}

// kill ends the current provider at once. Its requests no longer arrive.
func (p *providers) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	p.cycle.proxy.Admit("nobody")
	p.cycle.proxy.ResetConnections()
	if p.current != nil {
		p.current.Kill()
	}
}

// signal does what the signal of a fault does.
func (p *providers) signal(kind proxy.Kind) {
	p.mu.Lock()
	provider, first := p.current, !p.dead && kind == proxy.KillProvider
	p.interrupted = p.interrupted || kind == proxy.InterruptCLI
	p.mu.Unlock()
	switch {
	case first:
		p.kill()
		close(p.killed)
	case kind == proxy.InterruptCLI:
		provider.Interrupt(p.ctx)
	}
}

// plan plans with the next provider.
func (p *providers) plan(do func(*core.Command) (*core.Plan, error)) outcome {
	begun, err := p.begin()
	if err != nil {
		return outcome{err: err}
	}
	plan, err := do(begun)
	if err != nil {
		return outcome{err: err}
	}
	return outcome{plan: plan, warnings: plan.Warnings}
}

// apply applies a plan with the next provider.
func (p *providers) apply(ctx context.Context, r *core.Resource, out outcome) outcome {
	if out.err != nil {
		return out
	}
	begun, err := p.begin()
	if err != nil {
		out.err = err
		return out
	}
	warnings, err := r.Apply(ctx, begun, out.plan)
	out.warnings, out.err, out.applied = append(out.warnings, warnings...), err, true
	return out
}
