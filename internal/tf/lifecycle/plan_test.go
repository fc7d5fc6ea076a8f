package lifecycle_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// planned plans an update of the attributes in state, or a creation if prior is nil.
func (s *server) planned(
	prior, config map[string]any, privateState map[string]string,
) *tfprotov6.PlanResourceChangeResponse {
	s.t.Helper()
	proposed := map[string]any{"id": tftypes.UnknownValue, "uid": tftypes.UnknownValue,
		"manifests": tftypes.UnknownValue, "namespace": tftypes.UnknownValue}
	state := s.null()
	if prior != nil {
		state = s.value(prior)
		maps.Copy(proposed, prior)
	}
	for name, value := range config {
		if value != nil || name != "namespace" {
			proposed[name] = value
		}
	}
	resp, err := s.PlanResourceChange(s.t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: "kt_thing",
		PriorState: state, ProposedNewState: s.value(proposed), Config: s.value(config),
		PriorPrivate: private(s.t, privateState)})
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// destruction plans a destruction of the attributes in state.
func (s *server) destruction(
	prior map[string]any, privateState map[string]string,
) *tfprotov6.PlanResourceChangeResponse {
	s.t.Helper()
	resp, err := s.PlanResourceChange(s.t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: "kt_thing",
		PriorState: s.value(prior), ProposedNewState: s.null(), Config: s.null(),
		PriorPrivate: private(s.t, privateState)})
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// remembered is private state with an entry for the Service ml/x, and a note.
func remembered() map[string]string {
	return map[string]string{"applied": `{"Service/ml/x":{"uid":"u"}}`, "notes": `{"visits":7}`}
}

func TestPlanOfACreationHasAnIdentityAndNoMemory(t *testing.T) {
	t.Parallel()
	h := &hooks{}
	h.plan = func(p *planning) {
		one := p.Creation()
		if !p.Creating || p.Memory() != nil || p.PrivateState.Visits != 0 || one.PerObject || one.HeldBy == nil ||
			one.Type != "kt_thing" || one.ID != "ml/x" || !one.Adopt {
			t.Errorf("planning %+v, creation %+v", p, one)
		}
		if p.Replaced["Service/ml/x"].UID != "u" || one.Replaced["Service/ml/x"].UID != "u" ||
			p.ReplacedPrivateState.Visits != 7 {
			t.Errorf("the replaced resource has %v and %v", p.Replaced, p.ReplacedPrivateState)
		}
		if again := p.Creation(); again == one {
			t.Error("two plans share one creation")
		}
		p.ReplaceIfMoved()
		p.Plan.Size = types.StringValue("planned")
		p.PrivateState.Visits = 8
		p.SavePrivateState(t.Context())
		p.Diags.AddWarning("Noted", "")
	}
	s := inCluster(t, "a", h)
	resp := s.planned(nil, map[string]any{"name": "x", "adopt_existing": true, "size": "1"}, remembered())
	if s.text(resp.PlannedState, "id") != "ml/x" || s.text(resp.PlannedState, "namespace") != "ml" ||
		s.text(resp.PlannedState, "size") != "planned" || len(resp.RequiresReplace) > 0 {
		t.Errorf("planned %v", resp)
	}
	if len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Summary != "Noted" ||
		privateValue(t, resp.PlannedPrivate, "notes") != `{"visits":8}` {
		t.Errorf("%v, private state %s", resp.Diagnostics, resp.PlannedPrivate)
	}
}

func TestPlanOfAnUpdateHasTheMemoryOfTheResource(t *testing.T) {
	t.Parallel()
	h := &hooks{}
	h.plan = func(p *planning) {
		one := p.Creation()
		if p.Creating || p.Memory()["Service/ml/x"].UID != "u" || p.PrivateState.Visits != 7 || !one.PerObject ||
			one.HeldBy != nil || p.Replaced != nil || p.State.Size.ValueString() != "1" ||
			p.Config.Size.ValueString() != "2" || p.Plan.Size.ValueString() != "2" {
			t.Errorf("planning %+v, creation %+v", p, one)
		}
		p.Memory()["Service/ml/x"] = owned.Entry{UID: "v"}
		if p.Memory()["Service/ml/x"].UID != "v" {
			t.Error("the memory is decoded twice")
		}
		p.Replace.Append(path.Root("size"))
	}
	s := inCluster(t, "a", h)
	resp := s.planned(inState(nil), map[string]any{"name": "x", "size": "2"}, remembered())
	if s.text(resp.PlannedState, "size") != "2" || s.text(resp.PlannedState, "namespace") != "ml" ||
		len(resp.RequiresReplace) != 1 || len(resp.Diagnostics) > 0 {
		t.Errorf("planned %v", resp)
	}
}

func TestOnlyThePlanOfAnImportedResourceKeepsItsSettings(t *testing.T) {
	t.Parallel()
	config := map[string]any{"name": "x", "adopt_existing": false}
	imported := inState(map[string]any{"adopt_existing": true})
	for name, c := range map[string]struct {
		imported bool
		size     string
		kept     bool
	}{
		"not imported":           {false, "1", false},
		"imported":               {true, "1", true},
		"imported, with changes": {true, "2", false},
	} {
		config["size"] = c.size
		s := inCluster(t, "a", &hooks{plan: func(p *planning) {
			p.Plan.UID, p.Plan.Manifests = p.State.UID, p.State.Manifests
			p.PreserveImported(c.imported)
		}})
		resp := s.planned(imported, config, remembered())
		if got := s.attributes(resp.PlannedState)["adopt_existing"]; (got == true) != c.kept {
			t.Errorf("%s: adopt_existing is %v, kept is %t", name, got, c.kept)
		}
	}
}

func TestUnreadablePrivateStateIsReportedByThePlan(t *testing.T) {
	t.Parallel()
	broken := map[string]string{"applied": "[1]", "notes": "[1]", "moved": "[1]"}
	h := &hooks{plan: func(p *planning) { p.Memory() }}
	s := inCluster(t, "a", h)
	for name, diags := range map[string][]*tfprotov6.Diagnostic{
		"a creation": s.planned(nil, map[string]any{"name": "y"}, broken).Diagnostics,
		"an update":  s.planned(inState(nil), map[string]any{"name": "x", "size": "1"}, broken).Diagnostics,
	} {
		if len(diags) != 3 || errorSummary(t, diags) != "" {
			t.Errorf("%s: %v", name, diags)
		}
	}
}

func TestPlanFindsConflictsWithOtherResourcesOfTheRun(t *testing.T) {
	t.Parallel()
	const twice = "Two kt_thing resources are named ml/x"
	config := map[string]any{"name": "x", "size": "1"}
	creation := func(s *server) []*tfprotov6.Diagnostic { return s.planned(nil, config, nil).Diagnostics }
	replacement := func(s *server) []*tfprotov6.Diagnostic { return s.planned(nil, config, remembered()).Diagnostics }
	update := func(s *server) []*tfprotov6.Diagnostic { return s.planned(inState(nil), config, nil).Diagnostics }
	destruction := func(s *server) []*tfprotov6.Diagnostic { return s.destruction(inState(nil), nil).Diagnostics }
	for name, c := range map[string]struct {
		first, second func(*server) []*tfprotov6.Diagnostic
		want          string
	}{
		"created twice":      {creation, creation, twice},
		"kept twice":         {update, update, twice},
		"kept and created":   {update, creation, twice},
		"replaced":           {update, replacement, ""},
		"kept and destroyed": {update, destruction, twice},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inCluster(t, "a", &hooks{})
			if diags := c.first(s); len(diags) > 0 {
				t.Fatal(diags)
			}
			if got := errorSummary(t, c.second(s)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPlannedDestructionIsRecorded(t *testing.T) {
	t.Parallel()
	h := &hooks{}
	s := inCluster(t, "a", h)
	resp := s.destruction(inState(nil), nil)
	if privateValue(t, resp.PlannedPrivate, "destroy") != "true" || len(resp.Diagnostics) > 0 || len(h.called) > 0 {
		t.Errorf("called %v, private state %s, %v", h.called, resp.PlannedPrivate, resp.Diagnostics)
	}
	broken := s.destruction(inState(map[string]any{"name": "y", "id": "ml/y"}), map[string]string{"moved": "[1]"})
	if len(broken.Diagnostics) != 1 || errorSummary(t, broken.Diagnostics) != "" {
		t.Errorf("unreadable private state: %+v", broken.Diagnostics)
	}
}

// The mark of a plan that was not applied remains in the private state.
func TestLaterPlanEndsTheRequestToDestroy(t *testing.T) {
	t.Parallel()
	for requested, want := range map[bool]string{false: "false", true: "true"} {
		h := &hooks{plan: func(p *planning) { p.SetDestroyRequested(t.Context(), requested) }}
		resp := inCluster(t, "a", h).planned(inState(nil), map[string]any{"name": "x", "size": "1"},
			map[string]string{"destroy": "true"})
		if got := privateValue(t, resp.PlannedPrivate, "destroy"); got != want || len(resp.Diagnostics) > 0 {
			t.Errorf("destroy is %s, want %s; %v", got, want, resp.Diagnostics)
		}
	}
}

func TestNamespaceOfAPlanIsUnknownWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	h := &hooks{plan: func(p *planning) {
		if !p.Plan.Namespace.IsUnknown() || !p.Plan.ID.IsUnknown() {
			t.Errorf("namespace %s, ID %s", p.Plan.Namespace, p.Plan.ID)
		}
		if p.Creation().HeldBy != nil && !p.Data.Configured() {
			t.Error("the creation asks an unknown cluster")
		}
	}}
	resp := misconfigured(t, h).planned(nil, map[string]any{"name": "x"}, nil)
	if len(resp.Diagnostics) != 1 || !strings.Contains(resp.Diagnostics[0].Detail, "The namespace of the thing") {
		t.Errorf("%v", resp.Diagnostics)
	}
	unknown := configured(t, &tf.ProviderData{Unknown: true}, h)
	if resp := unknown.planned(nil, map[string]any{"name": "x"}, nil); len(resp.Diagnostics) > 0 {
		t.Errorf("%v", resp.Diagnostics)
	}
	if len(h.called) != 2 {
		t.Errorf("called %v", h.called)
	}
}

func TestConfigurationIsKnownOnlyCompletely(t *testing.T) {
	t.Parallel()
	for size, want := range map[any]bool{"1": true, tftypes.UnknownValue: false} {
		h := &hooks{plan: func(p *planning) {
			if p.Short() || p.ConfigKnown() != want {
				t.Errorf("size %v: short %t, known %t", size, p.Short(), p.ConfigKnown())
			}
		}}
		inCluster(t, "a", h).planned(nil, map[string]any{"name": "x", "size": size}, nil)
	}
}

func TestPlannedUIDIsUnknownIfTheApplySetsIt(t *testing.T) {
	t.Parallel()
	type planning = lifecycle.Planning[struct{}, struct{}]
	null, known, unknown := types.StringNull(), types.StringValue("u"), types.StringUnknown()
	for name, c := range map[string]struct {
		planning planning
		inState  types.String
		applied  bool
		want     types.String
	}{
		"creation":                             {planning{Creating: true}, null, true, unknown},
		"replacement":                          {planning{Replace: path.Paths{path.Empty()}}, known, true, unknown},
		"object that is being deleted":         {planning{Terminating: true}, known, false, unknown},
		"update":                               {planning{}, known, true, known},
		"no change":                            {planning{}, known, false, known},
		"update after a lost response":         {planning{}, null, true, unknown},
		"no change of an object without a UID": {planning{}, null, false, null},
	} {
		if got := c.planning.UID(c.inState, c.applied); !got.Equal(c.want) {
			t.Errorf("%s: %s instead of %s", name, got, c.want)
		}
	}
}
