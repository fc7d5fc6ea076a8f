package kube

import (
	"context"
	"sync"
	"time"
)

// Terraform and OpenTofu plan each resource a second time before they apply it,
// and apply it at once after that. Of something new, a dry run then tells nothing
// that the apply does not tell a moment later. The provider is not told whether
// it is asked for a plan or for the plan before an apply, but a provider instance
// is configured for one walk of the graph, and one that has been asked to apply
// something is in the walk that applies
// (https://github.com/hashicorp/terraform/blob/v1.11.4/internal/terraform/node_resource_apply_instance.go,
// managedResourceExecute).

const (
	// shortestLead and longestLead bound how long previews wait for the first one
	// to be applied; between these it is as long as that took.
	shortestLead = 200 * time.Millisecond
	longestLead  = time.Second
)

// previews orders the previews of creations in one run. The first one leads: if
// Terraform applies it, the others are spared.
type previews struct {
	mu       sync.Mutex
	applying chan struct{} // closed by the first apply
	led      chan struct{} // closed when the first preview has ended; nil before it begins
	until    time.Time     // until when its apply can be expected
}

// lock returns with the fields initialised, and locked.
func (p *previews) lock() {
	p.mu.Lock()
	if p.applying == nil {
		p.applying = make(chan struct{})
	}
}

// BeginApply notes that Terraform applies a resource in this run.
func (c *Cluster) BeginApply() {
	p := &c.previews
	p.lock()
	defer p.mu.Unlock()
	select {
	case <-p.applying:
	default:
		close(p.applying)
	}
}

// PreviewCreation calls preview, which asks the server about something new and
// must not decide any planned value, unless the run is one that applies: a plan
// has asked then, and the apply tells the rest.
func (c *Cluster) PreviewCreation(ctx context.Context, preview func()) {
	p := &c.previews
	p.lock()
	applying, led := p.applying, p.led
	leads := led == nil
	if leads {
		led = make(chan struct{})
		p.led = led
	}
	p.mu.Unlock()
	if leads {
		began := c.clock.Now()
		defer func() {
			now := c.clock.Now()
			p.lock()
			p.until = now.Add(min(max(now.Sub(began), shortestLead), longestLead))
			p.mu.Unlock()
			close(led)
		}()
	} else {
		c.follow(ctx, applying, led)
	}
	select {
	case <-applying:
	default:
		preview()
	}
}

// follow waits until an apply has begun, or none is to be expected.
func (c *Cluster) follow(ctx context.Context, applying, led <-chan struct{}) {
	select {
	case <-ctx.Done():
		return
	case <-applying:
		return
	case <-led:
	}
	p := &c.previews
	p.lock()
	left := p.until.Sub(c.clock.Now())
	p.mu.Unlock()
	if left <= 0 {
		return
	}
	timer := c.clock.NewTimer(left)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-applying:
	case <-timer.C():
	}
}
