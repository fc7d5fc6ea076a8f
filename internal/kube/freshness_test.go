package kube

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestReadsRequestAgainAfterTheWatchFailed(t *testing.T) {
	t.Parallel()
	outage := &Error{Class: Unreachable, Err: errors.New("connection refused")}
	denied := &Error{Class: Denied, Err: errors.New("forbidden")}
	for name, test := range map[string]struct {
		synced  bool
		failure error // of the watch; nil for one that says nothing
		later   time.Duration
		answer  error // of the list
		lists   int32
		want    error
	}{
		"a recent failure":                          {true, outage, 0, nil, 0, outage},
		"the server responds again":                 {true, outage, recheckAfter, nil, 1, nil},
		"the server responds before the first list": {false, outage, recheckAfter, nil, 1, nil},
		"the outage continues":                      {true, outage, recheckAfter, outage, 1, outage},
		"permission was revoked":                    {true, outage, recheckAfter, denied, 1, denied},
		"a silent watch":                            {false, nil, 0, nil, 1, nil},
		"no request without permission":             {true, denied, recheckAfter, nil, 0, denied},
		"no request for a healthy watch":            {true, nil, time.Hour, nil, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
			clock := &kubetest.Clock{}
			c.clock = clock
			var lists atomic.Int32
			c.list = func() ([]any, string, error) {
				lists.Add(1)
				return []any{stored("a", "5")}, "9", test.answer
			}
			if test.synced {
				told("list @9 a@5").tell(t, c)
			}
			if test.failure != nil {
				c.failed(test.failure)
			}
			clock.Skip(test.later)
			if err := c.ready(t.Context()); !errors.Is(err, test.want) || lists.Load() != test.lists {
				t.Errorf("%d lists, and %v; want %d, and %v", lists.Load(), err, test.lists, test.want)
			}
		})
	}
}

// The response to a list can be older than the object that a write has returned.
func TestObjectsWrittenDuringAListAreKept(t *testing.T) {
	t.Parallel()
	api := &namespacedAPI{namespaces: []string{"ml"}, lists: map[string]bool{}}
	c := clusterOf(t, kubetest.API{Answer: api.answer}).Store.collection(kind.Deployment(), "ml")
	if err := c.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	told("wrote b@12").tell(t, c)
	c.refresh(t.Context())
	for name, want := range map[string]string{"trainer": "5", "b": "12"} {
		e, there := c.get(types.NamespacedName{Namespace: "ml", Name: name})
		if !there || e.ResourceVersion != want {
			t.Errorf("%s: %t, %v; want version %s", name, there, e, want)
		}
	}
}

func TestConcurrentReadsShareOneList(t *testing.T) {
	t.Parallel()
	c := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
	var lists atomic.Int32
	requested, release := make(chan struct{}), make(chan struct{})
	c.list = func() ([]any, string, error) {
		lists.Add(1)
		close(requested)
		<-release
		return nil, "9", nil
	}
	done := make(chan struct{})
	go func() { c.refresh(t.Context()); close(done) }()
	<-requested
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c.refresh(ended)
	close(release)
	<-done
	if lists.Load() != 1 {
		t.Errorf("%d lists", lists.Load())
	}
}
