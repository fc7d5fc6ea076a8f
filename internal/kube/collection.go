package kube

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// collection contains the relevant objects of one kind, in one namespace or in
// all. It is the store of a Reflector of client-go, which keeps it up to date.
type collection struct {
	scope Ref // without a name, and without a namespace for all namespaces
	// selects is the label selector of the list and the watch.
	selects labels.Selector
	clock   clock.WithDelayedExecution
	list    func() (objects []any, version string, err error)

	mu         sync.Mutex
	entries    clientcache.ThreadSafeStore // by namespace/name
	deleted    map[types.UID]string        // resource versions of the deletions that the watch reported
	latest     string                      // newest resource version received from the server
	listed     string                      // resource version of the newest list
	synced     bool
	denied     bool                   // no permission to list or watch: nothing is cached
	err        error                  // error of the last list or watch, nil after a success
	failedAt   time.Time              // time of err
	listedAt   time.Time              // time of the last list
	signal     chan struct{}          // closed and replaced at each change of the fields above
	refreshing chan struct{}          // closed when the running list ends, nil if none is running
	waiting    map[*subscription]bool // those that have not been canceled
}

// subscription notifies a wait of changes. changed has a capacity of one.
type subscription struct {
	about   func(*Entry) bool // nil: all objects
	changed chan<- struct{}
}

func newCollection(scope Ref) *collection {
	selects, err := labels.Parse(scope.Kind.LabelSelector)
	if err != nil {
		selects = labels.Nothing() // the server rejects the list
	}
	return &collection{scope: scope, selects: selects, clock: clock.RealClock{}, entries: newEntries(),
		deleted: map[types.UID]string{}, waiting: map[*subscription]bool{},
		signal: make(chan struct{})}
}

// run lists and watches until ctx ends, or until the server denies permission.
func (c *collection) run(ctx context.Context, api *API) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	resource, err := api.lister(c.scope)
	if err != nil {
		c.failed(Wrap("list", c.scope, err))
		return
	}
	check := func(verb string, err error) {
		switch {
		case err == nil, ctx.Err() != nil:
			return
		case apierrors.IsInvalid(err), apierrors.IsResourceExpired(err), apierrors.IsGone(err):
			return // the server cannot stream a list, or the version is too old; the Reflector then lists
		}
		err = api.denied(ctx, c.scope, Wrap(verb, c.scope, err), verb)
		if ClassOf(err) == Denied {
			defer stop()
		}
		c.failed(err)
	}
	lw := &clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := resource.List(ctx, selected(c.scope.Kind, options))
			check("list", err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := resource.Watch(ctx, selected(c.scope.Kind, options))
			check("watch", err)
			return w, err
		},
	}
	// An error of a watch is foreign text, and check has recorded those of requests: the Reflector must not log them.
	ctx = klog.NewContext(ctx, logr.Discard())
	clientcache.NewReflectorWithOptions(lw, nil, c, clientcache.ReflectorOptions{ // nil: any type of object
		Name: Manager, TypeDescription: c.scope.Kind.Kind,
	}).RunWithContext(ctx)
}

// failed records the error of a list or watch. Without permission to list or
// watch, the objects are no longer updated. They are dropped in the same step,
// so that no reader sees an empty collection without the error.
func (c *collection) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch denied := ClassOf(err) == Denied; {
	case denied:
		c.entries, c.denied = newEntries(), true
	case c.denied:
		return
	}
	c.err, c.failedAt = err, c.clock.Now()
	c.changedLocked()
}

// changedLocked notifies the waits for one of some objects, which are versions of one object. Without objects, it
// notifies all of them.
func (c *collection) changedLocked(objects ...*Entry) {
	close(c.signal)
	c.signal = make(chan struct{})
	for s := range c.waiting {
		if s.about == nil || len(objects) == 0 || slices.ContainsFunc(objects, s.about) {
			select {
			case s.changed <- struct{}{}:
			default: // it has not received the last one yet
			}
		}
	}
}

// subscribe notifies changed of changes until cancel is called. See [Store.Subscribe].
func (c *collection) subscribe(about func(*Entry) bool, changed chan<- struct{}) (cancel func()) {
	s := &subscription{about, changed}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[s] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, s)
	}
}

func (c *collection) get(name types.NamespacedName) (*Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.getLocked(name)
}

func (c *collection) getLocked(name types.NamespacedName) (*Entry, bool) {
	obj, _ := c.entries.Get(name.String())
	e, ok := obj.(*Entry)
	return e, ok
}

// sawDeletion reports whether the watch reported the deletion of the object
// with that UID, and no other object of its name exists.
func (c *collection) sawDeletion(name types.NamespacedName, uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, there := c.getLocked(name)
	_, deleted := c.deleted[uid]
	return deleted && !there
}

// isDenied reports whether the server denies permission to list or watch.
func (c *collection) isDenied() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.denied
}

// filter returns the entries of a namespace ("": of all) that belong to one of names (none: all) and for which keep
// returns true (nil: all).
func (c *collection) filter(namespace string, keep func(*Entry) bool, names ...string) []*Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*Entry
	for _, e := range belonging(c.entries, names) {
		if (namespace == "" || e.Namespace == namespace) && (keep == nil || keep(e)) {
			out = append(out, e)
		}
	}
	return out
}

// The methods below implement the store of the Reflector.

// Transformer makes the Reflector store entries instead of decoded objects.
func (c *collection) Transformer() clientcache.TransformFunc {
	return func(obj any) (any, error) { return asEntry(obj) }
}

// Add stores an object, unless a newer version or its deletion is known.
func (c *collection) Add(obj any) error {
	e, err := asEntry(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.receivedLocked(e.ResourceVersion)
	if c.listed != "" && !newer(e, c.listed) || older(e.ResourceVersion, c.deleted[e.UID]) {
		return nil // a watch from an older list repeats events
	}
	c.putLocked(e)
	return nil
}

// wrote stores the response to a write of the provider, unless the watch, which
// reports changes in order, has reported the deletion of the object since. It
// does not add an object that the watch does not select, such as an adopted one,
// whose later changes would not be received.
func (c *collection) wrote(e *Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, there := c.getLocked(e.key())
	if !there && (!c.selects.Matches(labels.Set(e.Labels)) || !newer(e, c.latest) && c.latest != "") {
		return
	}
	c.putLocked(e)
}

func (c *collection) putLocked(e *Entry) {
	old, ok := c.getLocked(e.key())
	if c.denied || ok && newer(old, e.ResourceVersion) {
		return
	}
	c.entries.Update(e.key().String(), e)
	c.notifyLocked(old, e)
}

// notifyLocked notifies the waits for an object, of which the server has sent a version. old is the known version, or
// nil.
func (c *collection) notifyLocked(old, e *Entry) {
	recovered := c.err != nil
	c.err = nil
	switch {
	case recovered:
		c.changedLocked()
	case old == nil:
		c.changedLocked(e)
	default:
		c.changedLocked(old, e) // the new version may no longer have the labels that a wait selects
	}
}

func (c *collection) receivedLocked(version string) {
	if order, err := resourceversion.CompareResourceVersion(version, c.latest); err != nil || order > 0 {
		c.latest = version
	}
}

// Update is the same as Add.
func (c *collection) Update(obj any) error { return c.Add(obj) }

// Delete removes an object, unless one of the same name was created since.
func (c *collection) Delete(obj any) error {
	e, err := asEntry(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.receivedLocked(e.ResourceVersion)
	c.deleted[e.UID] = e.ResourceVersion
	old, ok := c.getLocked(e.key())
	if ok && newer(old, e.ResourceVersion) {
		return nil
	}
	c.entries.Delete(e.key().String())
	c.notifyLocked(old, e)
	return nil
}

// Replace stores a complete list, and keeps what is newer than the list:
// objects that the provider wrote or the watch reported, and deletions. A list
// that is older than another adds nothing, because the newer one has no trace
// of deletions between them.
func (c *collection) Replace(list []any, version string) error {
	received := make([]*Entry, 0, len(list))
	for _, obj := range list {
		e, err := asEntry(obj)
		if err != nil {
			return err
		}
		received = append(received, e)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.denied {
		return nil // no watch updates it any longer
	}
	c.listedAt = c.clock.Now()
	if !older(version, c.listed) {
		entries := make(map[string]any, len(received))
		for _, e := range received {
			if !older(version, c.deleted[e.UID]) {
				entries[e.key().String()] = e
			}
		}
		for _, old := range belonging(c.entries, nil) {
			if newer(old, version) {
				entries[old.key().String()] = old
			}
		}
		c.entries.Replace(entries, version)
		c.listed = version
		c.receivedLocked(version)
	}
	c.synced, c.err = true, nil
	c.changedLocked()
	return nil
}

// Resync does nothing.
func (c *collection) Resync() error { return nil }

// older reports whether one resource version is known to be older than another.
func older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// newer reports whether e is strictly newer than version. Resource versions are
// comparable numbers (KEP-5504). A version that is not a number is treated as
// older.
func newer(e *Entry, version string) bool { return older(version, e.ResourceVersion) }
