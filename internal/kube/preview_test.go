package kube

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// walk previews ten changes at the same time, as Terraform does by default. The
// first preview that ends is followed by an apply if the walk applies.
func walk(t *testing.T, applies bool) (previews int32) {
	t.Helper()
	var count atomic.Int32
	synctest.Test(t, func(t *testing.T) {
		c := &Cluster{clock: clock.RealClock{}, previews: newPreviews()}
		var resources sync.WaitGroup
		for range 10 {
			resources.Go(func() {
				c.Preview(t.Context(), func() {
					count.Add(1)
					time.Sleep(500 * time.Millisecond) // of latency
				})
				if applies {
					time.Sleep(50 * time.Millisecond) // of Terraform
					c.BeginApply()
				}
			})
		}
		resources.Wait()
		before := time.Now()
		c.Preview(t.Context(), func() { count.Add(1) })
		if waited := time.Since(before); waited != 0 {
			t.Errorf("a later preview waits for %v", waited)
		}
	})
	return count.Load()
}

func TestAllChangesOfAPlanArePreviewed(t *testing.T) {
	t.Parallel()
	if got := walk(t, false); got != 11 {
		t.Errorf("%d previews, want 11", got)
	}
}

func TestOneChangeOfAnApplyIsPreviewed(t *testing.T) {
	t.Parallel()
	if got := walk(t, true); got != 1 {
		t.Errorf("%d previews, want 1", got)
	}
}

func TestPreviewsWaitOnlyForTheFirstOne(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ended, applies bool // the context has, and the run does
		want           int
	}{
		"until the context ends": {ended: true, want: 1},
		"until an apply begins":  {applies: true, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, previews := &Cluster{clock: clock.RealClock{}, previews: newPreviews()}, 0
				release := make(chan struct{})
				var first sync.WaitGroup
				first.Go(func() { c.Preview(t.Context(), func() { <-release }) })
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.ended {
					cancel()
				}
				if test.applies {
					c.BeginApply()
				}
				if c.Preview(ctx, func() { previews++ }); previews != test.want {
					t.Errorf("%d previews, want %d", previews, test.want)
				}
				close(release)
				first.Wait()
			})
		})
	}
}

func TestPreviewIsValidForOneRun(t *testing.T) {
	t.Parallel()
	before := &Cluster{clock: clock.RealClock{}, previews: newPreviews()}
	before.BeginApply()
	before.BeginApply() // each apply does
	previewed := false
	before.Preview(t.Context(), func() { previewed = true })
	if previewed {
		t.Error("a run that applies sends a preview")
	}
	(&Cluster{clock: clock.RealClock{}, previews: newPreviews()}).Preview(t.Context(), func() { previewed = true })
	if !previewed {
		t.Error("another run does not send a preview")
	}
}
