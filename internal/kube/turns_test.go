package kube

import "testing"

func TestWhatARunHasCreatedItDoesNotDrop(t *testing.T) {
	t.Parallel()
	created := Ref{Kind: ConfigMap(), Namespace: "ml", Name: "created"}
	other := Ref{Kind: ConfigMap(), Namespace: "ml", Name: "other"}
	c := &Cluster{}
	if err := c.Take(created, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	for want, ref := range map[bool]Ref{false: created, true: other} {
		removed := false
		dropped, err := c.Drop(ref, func() error {
			removed = true
			return nil
		})
		if err != nil || dropped != want || removed != want || c.Taken(ref) == want {
			t.Errorf("%s: dropped %t, removed %t, taken %t, error %v", ref, dropped, removed, c.Taken(ref), err)
		}
	}
}

// A creation that comes while a deletion is asked for sees what is left by it.
func TestACreationWaitsForTheDeletionThatHasBegun(t *testing.T) {
	t.Parallel()
	ref := Ref{Kind: ConfigMap(), Namespace: "ml", Name: "data"}
	c := &Cluster{}
	there, looked := true, make(chan bool)
	if _, err := c.Drop(ref, func() error {
		go func() {
			_ = c.Take(ref, func() error {
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
