package run

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
)

func newRun(t *testing.T) *Run {
	t.Helper()
	return New(t.Context(), kube.NewCluster(t.Context(), config.Config{}), nil)
}

// walk previews ten changes at the same time, as Terraform does by default. The
// first preview that ends is followed by an apply if the walk applies.
func walk(t *testing.T, applies bool) (previews int32) {
	t.Helper()
	var count atomic.Int32
	synctest.Test(t, func(t *testing.T) {
		r := newRun(t)
		var resources sync.WaitGroup
		for range 10 {
			resources.Go(func() {
				r.Preview(t.Context(), func() {
					count.Add(1)
					time.Sleep(500 * time.Millisecond) // of latency
				})
				if applies {
					time.Sleep(50 * time.Millisecond) // of Terraform
					r.BeginApply()
				}
			})
		}
		resources.Wait()
		before := time.Now()
		r.Preview(t.Context(), func() { count.Add(1) })
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
				r, previews := newRun(t), 0
				release := make(chan struct{})
				var first sync.WaitGroup
				first.Go(func() { r.Preview(t.Context(), func() { <-release }) })
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.ended {
					cancel()
				}
				if test.applies {
					r.BeginApply()
				}
				if r.Preview(ctx, func() { previews++ }); previews != test.want {
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
	before := newRun(t)
	before.BeginApply()
	before.BeginApply() // each apply does
	previewed := false
	before.Preview(t.Context(), func() { previewed = true })
	if previewed {
		t.Error("a run that applies sends a preview")
	}
	newRun(t).Preview(t.Context(), func() { previewed = true })
	if !previewed {
		t.Error("another run does not send a preview")
	}
}
