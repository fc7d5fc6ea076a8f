package kube

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube/transport"
)

// A watch updates each collection. If the watch fails, or has not been compared
// with a list for some time, a waiting reader lists the collection again: a watch
// may be cut or lose events without an error, and the state of the watch is never
// taken for the state of the cluster.

const (
	// recheckAfter is the time after which a failed list or watch is repeated.
	recheckAfter = 2 * time.Second
	// RelistTime is the time after a list in which a waiting reader relies on the
	// watch. Other events of a watch do not show that it has lost none.
	RelistTime = 30 * time.Second
)

// ready waits until the collection is complete. If the last list or watch
// failed, it lists again and returns the error. Concurrent callers share the
// result.
func (c *collection) ready(ctx context.Context) error {
	for {
		c.mu.Lock()
		synced, denied, err, signal := c.synced, c.denied, c.err, c.signal
		known := c.clock.Since(c.failedAt) < recheckAfter || denied || ClassOf(err) == KindMissing ||
			ClassOf(err) == Misconfigured
		c.mu.Unlock()
		switch {
		case err == nil && synced:
			return nil
		case err != nil && known:
			return err
		case err != nil:
			c.refresh(ctx)
		case !c.await(ctx, signal):
			c.refresh(ctx) // a stream that should list, and does not
		}
		if ctx.Err() != nil {
			return Wrap("list", c.scope, context.Cause(ctx))
		}
	}
}

// await waits for a signal. It returns false if there was none for transport.WatchTime.
func (c *collection) await(ctx context.Context, signal <-chan struct{}) bool {
	timer := c.clock.NewTimer(transport.WatchTime)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-signal:
	case <-timer.C():
		return false
	}
	return true
}

// refresh lists the collection. Concurrent callers share one list.
func (c *collection) refresh(ctx context.Context) {
	c.mu.Lock()
	done := c.refreshing
	if done == nil {
		done = make(chan struct{})
		c.refreshing = done
		go c.relist(done)
	}
	c.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-done:
	}
}

func (c *collection) relist(done chan<- struct{}) {
	objects, version, err := c.list()
	if err == nil {
		err = c.Replace(objects, version)
	}
	if err != nil {
		c.failed(err)
	}
	c.mu.Lock()
	c.refreshing = nil
	c.mu.Unlock()
	close(done)
}

// refreshOld lists the collection again if its last list is RelistTime old.
func (c *collection) refreshOld(ctx context.Context) {
	c.mu.Lock()
	old := c.synced && !c.denied && c.clock.Since(c.listedAt) >= RelistTime
	c.mu.Unlock()
	if old {
		c.refresh(ctx)
	}
}

// list lists the objects of a collection, and returns the version of the
// list.
func (s *Store) list(ctx context.Context, scope Ref) ([]any, string, error) {
	resource, err := s.api.lister(scope)
	if err != nil {
		return nil, "", Wrap("list", scope, err)
	}
	list, err := resource.List(ctx, selected(scope.Kind, metav1.ListOptions{}))
	if err != nil {
		return nil, "", s.api.denied(ctx, scope, Wrap("list", scope, err), "list")
	}
	objects := make([]any, len(list.Items))
	for i := range list.Items {
		objects[i] = &list.Items[i]
	}
	return objects, list.GetResourceVersion(), nil
}

// selected returns the options of a list or watch of the relevant objects of a
// kind. Resource version "0" allows a response from a stale cache, but a plan
// needs the current state.
func selected(k Kind, options metav1.ListOptions) metav1.ListOptions {
	options.LabelSelector, options.FieldSelector = k.LabelSelector, k.FieldSelector
	if options.ResourceVersion == "0" {
		options.ResourceVersion = ""
	}
	return options
}
