package kube

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A collection is kept current by its watch. Where that fails, is silent, or is
// cut without a word, whoever needs the collection has it listed again: the state
// of the watch is never taken for the state of the cluster.

const (
	// recheckAfter is how long the failure of a list or watch is believed before
	// the server is asked again.
	recheckAfter = 2 * time.Second
	// quietTime is how long whoever waits for a change relies on a watch that tells
	// nothing.
	quietTime = 30 * time.Second
)

// ready waits until the collection is complete. Where the last list or watch
// failed it has the server asked again, and returns why that fails; all who ask
// within a moment share the answer.
func (c *collection) ready(ctx context.Context) error {
	for {
		c.mu.Lock()
		synced, denied, err, signal := c.synced, c.denied, c.err, c.signal
		known := c.clock.Since(c.failedAt) < recheckAfter || denied || ClassOf(err) == KindMissing || ClassOf(err) == Misconfigured
		c.mu.Unlock()
		switch {
		case err == nil && synced:
			return nil
		case err != nil && known:
			return err
		case err != nil:
			c.refresh(ctx)
		case !c.await(ctx, signal):
			c.refresh(ctx) // a stream that was to list, and does not
		}
		if ctx.Err() != nil {
			return wrap("list", c.scope, context.Cause(ctx))
		}
	}
}

// await waits for a signal; it is false where there was none for watchTime.
func (c *collection) await(ctx context.Context, signal <-chan struct{}) bool {
	timer := c.clock.NewTimer(watchTime)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-signal:
	case <-timer.C():
		return false
	}
	return true
}

// refresh lists the collection. One list at a time serves all who ask for it.
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

// refreshQuiet lists the collection again if nothing was heard of it for a while.
func (c *collection) refreshQuiet(ctx context.Context) {
	c.mu.Lock()
	quiet := c.synced && !c.denied && c.clock.Since(c.heard) >= quietTime
	c.mu.Unlock()
	if quiet {
		c.refresh(ctx)
	}
}

// listAll lists what a collection holds, and returns the version of the list.
func (c *Cluster) listAll(ctx context.Context, scope Ref) ([]any, string, error) {
	resource, err := c.resource(scope)
	if err != nil {
		return nil, "", wrap("list", scope, err)
	}
	list, err := resource.List(ctx, selected(scope.Kind, metav1.ListOptions{}))
	if err != nil {
		return nil, "", c.denied(ctx, "list", scope, wrap("list", scope, err))
	}
	objects := make([]any, len(list.Items))
	for i := range list.Items {
		objects[i] = &list.Items[i]
	}
	return objects, list.GetResourceVersion(), nil
}

// selected are the options of a list or watch of those objects of a kind that can
// concern us. Resource version "0" may be answered from a stale cache, and a plan
// needs what is there now.
func selected(k Kind, options metav1.ListOptions) metav1.ListOptions {
	options.LabelSelector, options.FieldSelector = k.LabelSelector, k.FieldSelector
	if options.ResourceVersion == "0" {
		options.ResourceVersion = ""
	}
	return options
}
