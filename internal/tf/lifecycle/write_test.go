package lifecycle_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// create applies a planned creation with changed attributes.
func (s *server) create(changes map[string]any) *tfprotov6.ApplyResourceChangeResponse {
	s.t.Helper()
	plan := inState(changes)
	plan["uid"], plan["manifests"] = tftypes.UnknownValue, tftypes.UnknownValue
	config := inState(changes)
	config["id"], config["uid"], config["manifests"] = nil, nil, nil
	resp, err := s.ApplyResourceChange(s.t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: "kt_thing", PriorState: s.null(), PlannedState: s.value(plan), Config: s.value(config),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// complete sets the unknown values of a plan, as the response to an apply does.
func complete(w *writing) {
	w.Plan.UID, w.Plan.Manifests = types.StringValue("u"), types.MapValueMust(types.StringType, nil)
}

func TestCreationThatFailsBeforeItSavesLeavesNoState(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}
	var data *tf.ProviderData
	s := inCluster(t, "a", &hooks{apply: func(_ context.Context, w *writing) {
		data = w.Data
		if err := w.Creation.Claim(data.Run, ref, func() error { return nil }); err != nil {
			t.Error(err)
		}
		complete(w)
		w.Diags.AddError("Rejected", "no quota")
	}})
	resp := s.create(nil)
	if errorSummary(t, resp.Diagnostics) != "Rejected" || !s.isNull(resp.NewState) ||
		privateValue(t, resp.Private, "cluster") != "" {
		t.Errorf("response %+v, private state %s", resp, resp.Private)
	}
	_, err := data.Run.DeleteUnlessClaimed(t.Context(), ref, func() error { return nil })
	if err == nil {
		t.Error("the object of the failed creation may be deleted")
	}
}

func TestCreationThatFailsAfterItHasSavedIsInState(t *testing.T) {
	t.Parallel()
	s := inCluster(t, "a", &hooks{apply: func(ctx context.Context, w *writing) {
		complete(w)
		w.PrivateState.Visits = 1
		w.Save(ctx)
		w.PrivateState.Visits = 2
		w.Save(ctx)
		w.Diags.AddError("Not ready", "no image")
	}})
	resp := s.create(nil)
	if errorSummary(t, resp.Diagnostics) != "Not ready" || s.text(resp.NewState, "uid") != "u" {
		t.Errorf("response %+v", resp)
	}
	if got := privateValue(t, resp.Private, "notes"); got != `{"visits":2}` {
		t.Errorf("the private state is %s", got)
	}
	if got := privateValue(t, resp.Private, "cluster"); !strings.Contains(got, `"uid":"a"`) {
		t.Errorf("the cluster is %s", got)
	}
}

// A deletion in the same run waits for the outcome of the creation. It must not also wait for readiness.
func TestFirstSaveEndsTheClaimOfACreation(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}
	var claimed []bool
	s := inCluster(t, "a", &hooks{apply: func(ctx context.Context, w *writing) {
		if err := w.Creation.Claim(w.Data.Run, ref, func() error { return nil }); err != nil {
			t.Error(err)
		}
		w.Creation.Created(ref, nil)
		complete(w)
		claimed = append(claimed, w.Data.Run.Claimed(ref))
		w.Save(ctx)
		claimed = append(claimed, w.Data.Run.Claimed(ref))
	}})
	if resp := s.create(nil); len(resp.Diagnostics) > 0 || !slices.Equal(claimed, []bool{false, true}) {
		t.Errorf("claimed %v, response %+v", claimed, resp)
	}
}

func TestTimeLimitOfACreationIsTheAttributeOrTheDefault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		timeouts any
		want     time.Duration
	}{
		"the default, plus the wait timeout": {nil, applyTime + waitTimeout},
		"the attribute": {map[string]tftypes.Value{
			"create": tftypes.NewValue(tftypes.String, "3h"), "update": tftypes.NewValue(tftypes.String, nil),
			"delete": tftypes.NewValue(tftypes.String, nil),
		}, 3 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var deadline time.Time
			s := inCluster(t, "a", &hooks{apply: func(ctx context.Context, w *writing) {
				deadline, _ = ctx.Deadline()
				complete(w)
				w.Save(ctx)
			}})
			before := time.Now()
			resp := s.create(map[string]any{"timeouts": c.timeouts})
			if early, late := before.Add(c.want), time.Now().Add(c.want); deadline.Before(early) ||
				deadline.After(late) {
				t.Errorf("deadline %s, want %s to %s; %+v", deadline, early, late, resp)
			}
		})
	}
}

func TestProtectionRejectsReplacementsAndDestructions(t *testing.T) {
	t.Parallel()
	const protected = "The thing is protected from deletion"
	for name, c := range map[string]struct {
		protected bool
		changes   map[string]any // of the plan; nil for a destruction
		replace   bool           // by the hook
		want      string
		replaces  int
	}{
		"a destruction":              {protected: true, want: protected},
		"an unprotected destruction": {},
		"another name": {protected: true, changes: map[string]any{"name": "y"}, want: protected,
			replaces: 1},
		"another name of an unprotected resource": {changes: map[string]any{"name": "y"}, replaces: 1},
		"another namespace": {
			protected: true, changes: map[string]any{"namespace": "web"}, want: protected, replaces: 1,
		},
		"a replacement by the hook": {
			protected: true, changes: map[string]any{}, replace: true, want: protected, replaces: 1,
		},
		"an update in place": {protected: true, changes: map[string]any{"size": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inCluster(t, "a", &hooks{plan: func(p *planning) {
				p.ReplaceIfMoved()
				if c.replace {
					p.Replace.Append(path.Root("manifests"))
				}
			}})
			state := inState(map[string]any{"deletion_protection": c.protected})
			req := &tfprotov6.PlanResourceChangeRequest{
				TypeName: "kt_thing", PriorState: s.value(state), Config: s.null(), ProposedNewState: s.null(),
			}
			if c.changes != nil {
				c.changes["deletion_protection"] = c.protected
				config := inState(c.changes)
				config["id"], config["uid"], config["manifests"] = nil, nil, nil
				req.Config, req.ProposedNewState = s.value(config), s.value(inState(c.changes))
			}
			resp, err := s.PlanResourceChange(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if got := errorSummary(t, resp.Diagnostics); got != c.want || len(resp.RequiresReplace) != c.replaces {
				t.Errorf("rejected with %q, replaces %v", got, resp.RequiresReplace)
			}
		})
	}
}

func TestProtectedResourceIsNotDeleted(t *testing.T) {
	t.Parallel()
	for _, protected := range []bool{false, true} {
		h := &hooks{}
		s := inCluster(t, "a", h)
		resp, err := s.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
			TypeName: "kt_thing", PriorState: s.value(inState(map[string]any{"deletion_protection": protected})),
			PlannedState: s.null(), Config: s.null(),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := errorSummary(t, resp.Diagnostics) != ""; got != protected || s.isNull(resp.NewState) == protected {
			t.Errorf("protected %t: rejected %t", protected, got)
		}
		if called := len(h.called) > 0; called == protected {
			t.Errorf("protected %t: called %v", protected, h.called)
		}
	}
}

func TestAnotherClusterIsRejected(t *testing.T) {
	t.Parallel()
	recordedCluster := private(t, map[string]string{"cluster": `{"uid":"a","server":"https://before:6443"}`})
	type response struct {
		diagnostics []*tfprotov6.Diagnostic
		err         error
	}
	for name, operation := range map[string]func(*server) response{
		"refresh": func(s *server) response {
			resp, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
				TypeName: "kt_thing", CurrentState: s.value(inState(nil)), Private: recordedCluster,
			})
			return response{resp.Diagnostics, err}
		},
		"plan of a destruction": func(s *server) response {
			resp, err := s.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
				TypeName: "kt_thing", PriorState: s.value(inState(nil)), Config: s.null(),
				ProposedNewState: s.null(),
				PriorPrivate:     recordedCluster,
			})
			return response{resp.Diagnostics, err}
		},
		"update": func(s *server) response {
			changed := inState(map[string]any{"size": "2"})
			config := map[string]any{"name": "x", "size": "2"}
			resp, err := s.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
				TypeName: "kt_thing", PriorState: s.value(inState(nil)), PlannedState: s.value(changed),
				Config:         s.value(config),
				PlannedPrivate: recordedCluster,
			})
			return response{resp.Diagnostics, err}
		},
		"deletion": func(s *server) response {
			resp, err := s.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
				TypeName: "kt_thing", PriorState: s.value(inState(nil)), PlannedState: s.null(), Config: s.null(),
				PlannedPrivate: recordedCluster,
			})
			return response{resp.Diagnostics, err}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hooks{}
			got := operation(inCluster(t, "b", h))
			if got.err != nil {
				t.Fatal(got.err)
			}
			if errorSummary(t, got.diagnostics) != "The provider is configured for another cluster" ||
				len(h.called) > 0 {
				t.Errorf("called %v, diagnostics %v", h.called, got.diagnostics)
			}
			same := &hooks{}
			got = operation(inCluster(t, "a", same))
			if got.err != nil || strings.Contains(errorSummary(t, got.diagnostics), "cluster") ||
				len(same.called) == 0 && name != "plan of a destruction" { // which calls no hook
				t.Errorf("rejected in the same cluster: %v, %v", got.err, got.diagnostics)
			}
		})
	}
}
