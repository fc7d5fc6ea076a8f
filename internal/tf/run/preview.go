package run

import (
	"context"
	"sync"
	"time"
)

// Terraform and OpenTofu plan each resource a second time before they apply it,
// and apply it at once after that. A dry run then shows nothing that the apply
// does not show immediately afterwards. The action is that of the first plan: if
// the second plan replaced an object, Terraform would reject it. The provider
// cannot distinguish a plan from the plan before an apply. But a provider
// instance is configured for one walk of the graph, and an instance that has
// applied a resource is in the apply walk
// (https://github.com/hashicorp/terraform/blob/v1.11.4/internal/terraform/node_resource_apply_instance.go,
// managedResourceExecute).

const (
	// shortestLead and longestLead limit the time that previews wait for the first
	// one to be applied. Between these limits, it is the duration of the first
	// preview.
	shortestLead = 200 * time.Millisecond
	longestLead  = time.Second
)

// previews orders the previews of one run. If Terraform applies the resource of
// the first preview, the others are skipped.
type previews struct {
	applying chan struct{} // closed by the first apply
	apply    func()        // closes applying

	mu    sync.Mutex
	led   chan struct{} // closed when the first preview has ended; nil before it begins
	until time.Time     // end of the time in which its apply is expected
}

func newPreviews() *previews {
	applying := make(chan struct{})
	return &previews{applying: applying, apply: sync.OnceFunc(func() { close(applying) })}
}

// BeginApply records that Terraform applies a resource in this run.
func (r *Run) BeginApply() { r.previews.apply() }

// Preview calls preview, which dry-runs a change and must not determine planned
// values, except that a resource is replaced. It skips preview in an apply: the
// plan has called it, and the apply reports all errors.
func (r *Run) Preview(ctx context.Context, preview func()) {
	p := r.previews
	p.mu.Lock()
	led := p.led
	leads := led == nil
	if leads {
		led = make(chan struct{})
		p.led = led
	}
	p.mu.Unlock()
	if leads {
		began := r.Cluster.Clock().Now()
		defer func() {
			now := r.Cluster.Clock().Now()
			p.mu.Lock()
			p.until = now.Add(min(max(now.Sub(began), shortestLead), longestLead))
			p.mu.Unlock()
			close(led)
		}()
	} else {
		r.follow(ctx, led)
	}
	select {
	case <-p.applying:
	default:
		preview()
	}
}

// follow waits until an apply has started, or is no longer expected.
func (r *Run) follow(ctx context.Context, led <-chan struct{}) {
	p := r.previews
	select {
	case <-ctx.Done():
		return
	case <-p.applying:
		return
	case <-led:
	}
	p.mu.Lock()
	left := p.until.Sub(r.Cluster.Clock().Now())
	p.mu.Unlock()
	if left <= 0 {
		return
	}
	timer := r.Cluster.Clock().NewTimer(left)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-p.applying:
	case <-timer.C():
	}
}
