package kube

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

func TestObjectsCreatedByARunAreNotDeletedByIt(t *testing.T) {
	t.Parallel()
	created := Ref{Kind: kind.ConfigMap(), Namespace: "ml", Name: "created"}
	other := Ref{Kind: kind.ConfigMap(), Namespace: "ml", Name: "other"}
	c := &Cluster{}
	failed := errors.New("not readable")
	if err := c.Claim(created, func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("the error of the read is %v", err)
	}
	c.EndClaim(created, true)
	select {
	case <-c.claims.of(created).ended:
	default:
		t.Error("the claim has not ended")
	}
	c.EndClaim(created, false) // which comes too late
	for want, ref := range map[bool]Ref{false: created, true: other} {
		removed := false
		deleted, err := c.DeleteUnlessClaimed(t.Context(), ref, func() error {
			removed = true
			return nil
		})
		if err != nil || deleted != want || removed != want || c.Claimed(ref) == want {
			t.Errorf("%s: deleted %t, removed %t, claimed %t, error %v", ref, deleted, removed, c.Claimed(ref), err)
		}
	}
}

// A creation that starts during the request for a deletion reads the object afterwards.
func TestCreationWaitsForAStartedDeletion(t *testing.T) {
	t.Parallel()
	ref := Ref{Kind: kind.ConfigMap(), Namespace: "ml", Name: "data"}
	c := &Cluster{}
	there, looked := true, make(chan bool)
	if _, err := c.DeleteUnlessClaimed(t.Context(), ref, func() error {
		go func() {
			_ = c.Claim(ref, func() error {
				looked <- there
				return nil
			})
		}()
		there = false
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if <-looked {
		t.Error("the creation read the object during the deletion")
	}
}

// A predecessor that is not deleted must remain in state until the resource that
// takes over its object is in state.
func TestDeletionWaitsForTheCreationAndFailsWithIt(t *testing.T) {
	t.Parallel()
	ref := Ref{Kind: kind.ConfigMap(), Namespace: "ml", Name: "data"}
	for _, inState := range []bool{true, false} {
		c := &Cluster{}
		if err := c.Claim(ref, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		type result struct {
			deleted bool
			err     error
		}
		results := make(chan result)
		go func() {
			deleted, err := c.DeleteUnlessClaimed(t.Context(), ref, func() error {
				t.Error("removed")
				return nil
			})
			results <- result{deleted, err}
		}()
		c.EndClaim(ref, inState)
		got := <-results
		var failed *CreationFailedError
		if got.deleted || errors.As(got.err, &failed) == inState || (got.err == nil) != inState {
			t.Errorf("in state %t: deleted %t, error %v", inState, got.deleted, got.err)
		}
		if failed != nil && !strings.HasPrefix(failed.Error(), "ConfigMap ml/data was not deleted: ") {
			t.Error(failed)
		}
	}
}

func TestDeletionWaitingForACreationTimesOut(t *testing.T) {
	t.Parallel()
	ref := Ref{Kind: kind.ConfigMap(), Namespace: "ml", Name: "data"}
	c := &Cluster{}
	if err := c.Claim(ref, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if deleted, err := c.DeleteUnlessClaimed(ctx, ref, func() error { return nil }); deleted ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("deleted %t, error %v", deleted, err)
	}
}

func TestOnlyTheObjectInStateIsClaimed(t *testing.T) {
	t.Parallel()
	c := &Cluster{}
	c.Hold("old", "kt_image ml/data")
	c.Hold("", "kt_image ml/unknown")
	if c.HeldBy("old") != "kt_image ml/data" || c.HeldBy("new") != "" || c.HeldBy("") != "" {
		t.Error("only the object in state must be held")
	}
}

func TestObjectIsPlannedByOneResourceOnly(t *testing.T) {
	t.Parallel()
	c := &Cluster{}
	const key, first, second = "Service/ml/a-headless", "kt_compute ml/a", "kt_compute ml/a-headless"
	for _, resource := range []string{first, first} {
		if other := c.PlanObject(key, resource); other != "" {
			t.Errorf("%s conflicts with %s", resource, other)
		}
	}
	if other := c.PlanObject(key, second); other != first {
		t.Errorf("the other resource is %q, want %q", other, first)
	}
	if !c.PlansObject(key) || c.PlansObject("Service/ml/b") {
		t.Errorf("plans the object: %t, another one: %t", c.PlansObject(key), c.PlansObject("Service/ml/b"))
	}
}

func TestConflictingPlansAreReported(t *testing.T) {
	t.Parallel()
	create := func(p Planned) PlanConflict { return p.Create(false, false) }
	adopt := func(p Planned) PlanConflict { return p.Create(false, true) }
	replace := func(p Planned) PlanConflict { return p.Create(true, false) }
	keep := Planned.Keep
	destroy := Planned.Destroy
	execute := func(p Planned) PlanConflict { defer p.Executed(); return p.Create(true, false) }
	for name, c := range map[string]struct {
		first, second func(Planned) PlanConflict
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
			c2 := &Cluster{}
			if got := c.first(c2.Planned("kt_volume ml/data")); got != NoConflict {
				t.Errorf("the first plan alone has conflict %d", got)
			}
			if got := c.second(c2.Planned("kt_volume ml/data")); got != c.want {
				t.Errorf("conflict %d, want %d", got, c.want)
			}
			if got := c.second(c2.Planned("kt_volume ml/other")); got != NoConflict {
				t.Errorf("another resource has conflict %d", got)
			}
		})
	}
}
