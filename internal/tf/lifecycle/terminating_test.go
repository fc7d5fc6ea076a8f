package lifecycle_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// A recorded deletion must not replace the next object of the same name.
func TestDeletionOfAnObjectIsRecordedUntilItIsDeleted(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}
	for name, c := range map[string]struct {
		was, exists, deleted bool
		want                 string // in private state
	}{
		"the deletion has started": {exists: true, deleted: true, want: "true"},
		"the deletion continues":   {was: true, exists: true, deleted: true, want: "true"},
		"another object exists":    {was: true, exists: true, want: "false"},
		"no object exists":         {was: true, want: "false"},
		"nothing is deleted":       {exists: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := kind.Service().Named("ml", "x")
			live.SetUID("new")
			if c.deleted {
				now := metav1.Unix(1, 0)
				live.SetDeletionTimestamp(&now)
			}
			s := inCluster(t, "a", &hooks{refresh: func(r *reading) error {
				if c.exists {
					r.SetLive(ref, live)
				}
				if warned := len(r.Diags) == 1; warned != c.deleted {
					t.Errorf("warnings %v", r.Diags)
				}
				return nil
			}})
			private := map[string]string{}
			if c.was {
				private["terminating"] = "true"
			}
			resp := s.read(inState(nil), private)
			if got := privateValue(t, resp.Private, "terminating"); got != c.want {
				t.Errorf("terminating is %q, want %q", got, c.want)
			}
			if uid := s.text(resp.NewState, "uid"); c.exists && uid != "new" {
				t.Errorf("the uid is %q", uid)
			}
		})
	}
}

// A moved resource cannot be replaced, and a listed one is in no state.
func TestObjectThatIsBeingDeletedDoesNotReplaceWhatIsMovedOrListed(t *testing.T) {
	t.Parallel()
	live := kind.Service().Named("ml", "x")
	now := metav1.Unix(1, 0)
	live.SetDeletionTimestamp(&now)
	for name, c := range map[string]struct {
		reading    reading
		terminates bool
	}{
		"imported": {terminates: true},
		"moved":    {reading: reading{Moved: &lifecycle.Moved{}}},
		"listed":   {reading: reading{Listing: &kube.Listing{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := c.reading
			r.State = &model{}
			if r.SetLive(kube.Ref{}, live); r.Terminating != c.terminates || len(r.Diags) > 0 != c.terminates {
				t.Errorf("terminating %v, diagnostics %v", r.Terminating, r.Diags)
			}
		})
	}
}

func TestResourceWhoseObjectIsBeingDeletedIsReplaced(t *testing.T) {
	t.Parallel()
	s := inCluster(t, "a", &hooks{plan: func(p *planning) {
		if p.Terminating == p.Creating {
			t.Errorf("terminating %t, creating %t", p.Terminating, p.Creating)
		}
		p.Plan.UID = p.UID(p.State.UID, false)
	}})
	private := map[string]string{"terminating": "true"}
	update := s.planned(inState(nil), map[string]any{"name": "x", "size": "1"}, private)
	if len(update.RequiresReplace) != 1 || update.RequiresReplace[0].String() != `AttributeName("uid")` {
		t.Errorf("an update replaces because of %v", update.RequiresReplace)
	}
	creation := s.planned(nil, map[string]any{"name": "x", "size": "1"}, private)
	if len(creation.RequiresReplace) > 0 {
		t.Errorf("a creation replaces because of %v", creation.RequiresReplace)
	}
}

// Otherwise, deletion_protection would refuse every plan, also the one that sets it to false.
func TestProtectedResourceWhoseObjectIsBeingDeletedIsUpdated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		protected, wanted bool // deletion_protection in state and in the configuration
		replaces          int
	}{
		"unchanged": {true, true, 0}, "set to false": {true, false, 0}, "unprotected": {false, false, 1},
		"set to true": {false, true, 1},
	} {
		s := inCluster(t, "a", &hooks{plan: func(p *planning) { p.Plan.UID = p.UID(p.State.UID, true) }})
		resp := s.planned(inState(map[string]any{"deletion_protection": c.protected}),
			map[string]any{"name": "x", "size": "1", "deletion_protection": c.wanted},
			map[string]string{"terminating": "true"})
		uid := s.text(resp.PlannedState, "uid")
		if len(resp.RequiresReplace) != c.replaces || len(resp.Diagnostics) > 0 || (uid == "u") != (c.replaces == 0) {
			t.Errorf("%s: replaces because of %v, with the uid %q, %v", name, resp.RequiresReplace, uid,
				resp.Diagnostics)
		}
	}
}
