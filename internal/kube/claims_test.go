package kube

import "testing"

func TestWhatARunHasCreatedItDoesNotDelete(t *testing.T) {
	t.Parallel()
	created := Ref{Kind: ConfigMap(), Namespace: "ml", Name: "created"}
	other := Ref{Kind: ConfigMap(), Namespace: "ml", Name: "other"}
	c := &Cluster{}
	if err := c.Claim(created, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	for want, ref := range map[bool]Ref{false: created, true: other} {
		removed := false
		deleted, err := c.DeleteUnlessClaimed(ref, func() error {
			removed = true
			return nil
		})
		if err != nil || deleted != want || removed != want || c.Claimed(ref) == want {
			t.Errorf("%s: deleted %t, removed %t, claimed %t, error %v", ref, deleted, removed, c.Claimed(ref), err)
		}
	}
}

// A creation that comes while a deletion is asked for sees what is left by it.
func TestACreationWaitsForTheDeletionThatHasBegun(t *testing.T) {
	t.Parallel()
	ref := Ref{Kind: ConfigMap(), Namespace: "ml", Name: "data"}
	c := &Cluster{}
	there, looked := true, make(chan bool)
	if _, err := c.DeleteUnlessClaimed(ref, func() error {
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
		t.Error("the creation saw what was being deleted")
	}
}

func TestOnlyTheObjectThatTheStateHasIsHeld(t *testing.T) {
	t.Parallel()
	ref := Ref{Kind: ConfigMap(), Namespace: "ml", Name: "data"}
	c := &Cluster{}
	c.Hold(ref, "old")
	if !c.Holds(ref, "old") || c.Holds(ref, "new") || c.Holds(Ref{Kind: Secret(), Namespace: "ml", Name: "data"}, "old") {
		t.Error("another object than the one in state is held, or that one is not")
	}
}

func TestPlansThatExcludeEachOther(t *testing.T) {
	t.Parallel()
	create := func(p Planned) PlanConflict { return p.Create(false, false) }
	adopt := func(p Planned) PlanConflict { return p.Create(false, true) }
	replace := func(p Planned) PlanConflict { return p.Create(true, false) }
	keep := Planned.Keep
	destroy := Planned.Destroy
	for name, c := range map[string]struct {
		first, second func(Planned) PlanConflict
		want          PlanConflict
	}{
		"two creations":                            {create, create, CreatedTwice},
		"a creation beside one that stays":         {keep, create, CreatedAndKept},
		"one that stays beside a creation":         {create, keep, CreatedAndKept},
		"a creation that adopts one that stays":    {keep, adopt, CreatedAndKept},
		"a replacement":                            {keep, replace, NoConflict},
		"the same object under two addresses":      {keep, keep, KeptTwice},
		"a destruction of one that stays":          {keep, destroy, KeptAndDestroyed},
		"one that stays beside a destruction":      {destroy, keep, KeptAndDestroyed},
		"a destruction before a creation":          {destroy, create, CreatedAndDestroyed},
		"a destruction after a creation":           {create, destroy, CreatedAndDestroyed},
		"a destruction before one that takes over": {destroy, adopt, NoConflict},
		"a destruction after one that takes over":  {adopt, destroy, NoConflict},
		"a replacement beside a creation":          {replace, create, CreatedTwice},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c2 := &Cluster{}
			if got := c.first(c2.Planned("kt_volume ml/data")); got != NoConflict {
				t.Errorf("the first alone is conflict %d", got)
			}
			if got := c.second(c2.Planned("kt_volume ml/data")); got != c.want {
				t.Errorf("conflict %d, want %d", got, c.want)
			}
			if got := c.second(c2.Planned("kt_volume ml/other")); got != NoConflict {
				t.Errorf("another resource is in conflict %d", got)
			}
		})
	}
}
