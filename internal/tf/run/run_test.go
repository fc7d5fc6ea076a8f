package run

import "testing"

func TestChangesArePreviewedUntilTheRunApplies(t *testing.T) {
	t.Parallel()
	r, previews := &Run{}, 0
	for range 2 {
		r.Preview(func() { previews++ })
	}
	r.BeginApply()
	r.Preview(func() { t.Error("a run that applies previews a change") })
	if (&Run{}).Preview(func() { previews++ }); previews != 3 {
		t.Errorf("%d previews, want 3: another run is not affected", previews)
	}
}

func TestValueOfARunIsCreatedOnce(t *testing.T) {
	t.Parallel()
	r, calls := &Run{}, 0
	create := func() int { calls++; return calls }
	for range 2 {
		if got := Once(r, "a", create); got != 1 || calls != 1 {
			t.Errorf("%d after %d calls", got, calls)
		}
	}
	if got := Once(r, "b", create); got != 2 {
		t.Errorf("the other value is %d", got)
	}
}
