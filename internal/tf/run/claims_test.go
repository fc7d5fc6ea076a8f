package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

func TestObjectsCreatedByARunAreNotDeletedByIt(t *testing.T) {
	t.Parallel()
	created := kube.Ref{Kind: kind.ConfigMap(), Namespace: "ml", Name: "created"}
	other := kube.Ref{Kind: kind.ConfigMap(), Namespace: "ml", Name: "other"}
	r := &Run{}
	failed := errors.New("not readable")
	if err := r.Claim(created, func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("the error of the read is %v", err)
	}
	r.EndClaim(created, true)
	select {
	case <-r.claimOf(created).ended:
	default:
		t.Error("the claim has not ended")
	}
	r.EndClaim(created, false) // which comes too late
	for want, ref := range map[bool]kube.Ref{false: created, true: other} {
		removed := false
		deleted, err := r.DeleteUnlessClaimed(t.Context(), ref, func() error {
			removed = true
			return nil
		})
		if err != nil || deleted != want || removed != want || r.Claimed(ref) == want {
			t.Errorf("%s: deleted %t, removed %t, claimed %t, error %v", ref, deleted, removed, r.Claimed(ref), err)
		}
	}
}

// A creation that starts during the request for a deletion reads the object afterwards, and the reverse.
func TestCreationWaitsForAStartedDeletion(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.ConfigMap(), Namespace: "ml", Name: "data"}
	r := &Run{}
	requests := 0
	// A goroutine that waits for a mutex cannot be told from one that has not started: look at the lock itself.
	request := func() error {
		requests++
		if claim := r.claimOf(ref); claim.TryLock() {
			claim.Unlock()
			t.Errorf("another request can start during request %d", requests)
		}
		return nil
	}
	if _, err := r.DeleteUnlessClaimed(t.Context(), ref, request); err != nil {
		t.Fatal(err)
	}
	if err := r.Claim(ref, request); err != nil || requests != 2 {
		t.Errorf("%d requests, %v", requests, err)
	}
}

// A predecessor that is not deleted must remain in state until the resource that
// takes over its object is in state.
func TestDeletionWaitsForTheCreationAndFailsWithIt(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.ConfigMap(), Namespace: "ml", Name: "data"}
	for _, inState := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := &Run{}
			if err := r.Claim(ref, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			type result struct {
				deleted bool
				err     error
			}
			results := make(chan result, 1)
			go func() {
				deleted, err := r.DeleteUnlessClaimed(t.Context(), ref, func() error {
					t.Error("removed")
					return nil
				})
				results <- result{deleted, err}
			}()
			synctest.Wait()
			if len(results) > 0 {
				t.Error("the deletion does not wait for the creation")
			}
			r.EndClaim(ref, inState)
			got := <-results
			var failed *CreationFailedError
			if got.deleted || errors.As(got.err, &failed) == inState || (got.err == nil) != inState {
				t.Errorf("in state %t: deleted %t, error %v", inState, got.deleted, got.err)
			}
			if failed != nil && !strings.HasPrefix(failed.Error(), "ConfigMap ml/data was not deleted: ") {
				t.Error(failed)
			}
		})
	}
}

func TestDeletionWaitingForACreationTimesOut(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.ConfigMap(), Namespace: "ml", Name: "data"}
	r := &Run{}
	if err := r.Claim(ref, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if deleted, err := r.DeleteUnlessClaimed(ctx, ref, func() error { return nil }); deleted ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("deleted %t, error %v", deleted, err)
	}
}

// Knative has a kind Service as well.
func TestClaimIsOfTheKindOfAGroup(t *testing.T) {
	t.Parallel()
	r := &Run{}
	knative, _ := kind.Of(schema.GroupKind{Group: "serving.knative.dev", Kind: "Service"})
	scaled := kube.Ref{Kind: knative, Namespace: "ml", Name: "trainer"}
	core := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "trainer"}
	if err := r.Claim(scaled, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	r.EndClaim(scaled, true)
	deletes := errors.New("it is deleted")
	if _, err := r.DeleteUnlessClaimed(t.Context(), core, func() error { return deletes }); !errors.Is(err, deletes) {
		t.Errorf("the creation of the other one prevents the deletion: %v", err)
	}
}

func TestOnlyTheObjectInStateIsClaimed(t *testing.T) {
	t.Parallel()
	r := &Run{}
	r.Hold("old", "kt_image ml/data")
	r.Hold("", "kt_image ml/unknown")
	if r.HeldBy("old") != "kt_image ml/data" || r.HeldBy("new") != "" || r.HeldBy("") != "" {
		t.Error("only the object in state must be held")
	}
}

func TestObjectIsPlannedByOneResourceOnly(t *testing.T) {
	t.Parallel()
	r := &Run{}
	const key, first, second = "Service/ml/a-headless", "kt_compute ml/a", "kt_compute ml/a-headless"
	for _, resource := range []string{first, first} {
		if other := r.PlanObject(key, resource); other != "" {
			t.Errorf("%s conflicts with %s", resource, other)
		}
	}
	if other := r.PlanObject(key, second); other != first {
		t.Errorf("the other resource is %q, want %q", other, first)
	}
	if !r.PlansObject(key) || r.PlansObject("Service/ml/b") {
		t.Errorf("plans the object: %t, another one: %t", r.PlansObject(key), r.PlansObject("Service/ml/b"))
	}
}

func TestConflictingPlansAreReported(t *testing.T) {
	t.Parallel()
	create := func(p *Planned) PlanConflict { return p.Create(false, false) }
	adopt := func(p *Planned) PlanConflict { return p.Create(false, true) }
	replace := func(p *Planned) PlanConflict { return p.Create(true, false) }
	keep := (*Planned).Keep
	destroy := (*Planned).Destroy
	execute := func(p *Planned) PlanConflict { defer p.Executed(); return p.Create(true, false) }
	for name, c := range map[string]struct {
		first, second func(*Planned) PlanConflict
		want          PlanConflict
	}{
		"two creations":                             {create, create, CreatedTwice},
		"an existing resource, then a creation":     {keep, create, CreatedAndKept},
		"a creation, then an existing resource":     {create, keep, CreatedAndKept},
		"a creation that adopts an existing object": {keep, adopt, CreatedAndKept},
		"a replacement":                             {keep, replace, NoConflict},
		"one object at two addresses":               {keep, keep, KeptTwice},
		"an existing resource, then a destruction":  {keep, destroy, KeptAndDestroyed},
		"a destruction, then an existing resource":  {destroy, keep, KeptAndDestroyed},
		"a destruction before a creation":           {destroy, create, CreatedAndDestroyed},
		"a destruction after a creation":            {create, destroy, CreatedAndDestroyed},
		"a destruction before an adoption":          {destroy, adopt, NoConflict},
		"a destruction after an adoption":           {adopt, destroy, NoConflict},
		"a replacement, then a creation":            {replace, create, CreatedTwice},
		"a destruction after an executed creation":  {execute, destroy, NoConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Run{}
			if got := c.first(r.Planned("kt_volume ml/data")); got != NoConflict {
				t.Errorf("the first plan alone has conflict %d", got)
			}
			if got := c.second(r.Planned("kt_volume ml/data")); got != c.want {
				t.Errorf("conflict %d, want %d", got, c.want)
			}
			if got := c.second(r.Planned("kt_volume ml/other")); got != NoConflict {
				t.Errorf("another resource has conflict %d", got)
			}
		})
	}
}
