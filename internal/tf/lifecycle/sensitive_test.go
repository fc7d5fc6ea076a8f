package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// secretPath is a path in the object that rendering returns.
func secretPath(text string) []tftypes.Value {
	return []tftypes.Value{tftypes.NewValue(tftypes.String, text)}
}

// withArgument returns the attribute manifests with an object that contains a value.
func withArgument(value string) types.Map {
	return types.MapValueMust(types.StringType, map[string]attr.Value{"Thing/ml/x": types.StringValue(fmt.Sprintf(
		`{"apiVersion":"v1","kind":"Thing","metadata":{"name":"x","namespace":"ml"},"spec":{"args":["--token",%q]}}`,
		value))})
}

// outputs returns what Terraform shows of a response: the attributes except the sensitive one, and the diagnostics.
func (s *server) outputs(value *tfprotov6.DynamicValue, diagnostics []*tfprotov6.Diagnostic) string {
	s.t.Helper()
	decoded, err := value.Unmarshal(s.state)
	if err != nil {
		s.t.Fatal(err)
	}
	var shown strings.Builder
	var attributes map[string]tftypes.Value
	if !decoded.IsNull() {
		if err := decoded.As(&attributes); err != nil {
			s.t.Fatal(err)
		}
	}
	for name, attribute := range attributes {
		if name != "sensitive_values" {
			fmt.Fprintln(&shown, name, attribute)
		}
	}
	for _, d := range diagnostics {
		fmt.Fprintln(&shown, d.Severity, d.Summary, d.Detail, d.Attribute)
	}
	return shown.String()
}

// attributes returns those of a response, to be the prior state of a request.
func (s *server) attributes(value *tfprotov6.DynamicValue) map[string]any {
	s.t.Helper()
	decoded, err := value.Unmarshal(s.state)
	var attributes map[string]tftypes.Value
	if err == nil {
		err = decoded.As(&attributes)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]any{}
	for name, attribute := range attributes {
		var text string
		var flag bool
		var list []tftypes.Value
		var object map[string]tftypes.Value
		switch {
		case attribute.IsNull():
		case !attribute.IsKnown():
			out[name] = tftypes.UnknownValue
		case attribute.As(&text) == nil:
			out[name] = text
		case attribute.As(&flag) == nil:
			out[name] = flag
		case attribute.As(&list) == nil:
			out[name] = list
		case attribute.As(&object) == nil:
			out[name] = object
		}
	}
	return out
}

// The hooks see the values, and neither an attribute that Terraform shows nor a diagnostic contains them.
func TestSensitiveFieldsStandOnlyInTheirOwnAttribute(t *testing.T) {
	t.Parallel()
	rendered, live := "canary-first", ""
	var seen []string
	see := func(m types.Map) { seen = append(seen, m.String()) }
	fail := false
	h := &hooks{
		plan: func(p *planning) {
			see(p.State.Manifests)
			p.Plan.Manifests, p.Plan.UID = withArgument(rendered), p.State.UID
			if p.Creating {
				p.Plan.UID = types.StringUnknown()
			}
			p.Diags.AddAttributeWarning(path.Root("size"), "Noted", "The server has said "+rendered)
		},
		apply: func(ctx context.Context, w *writing) {
			see(w.Plan.Manifests)
			w.Plan.UID = types.StringValue("u")
			w.Diags.AddWarning("Applied "+rendered, "")
			if fail {
				w.Diags.AddError("Not applied", rendered)
				w.SaveAs(ctx, w.Prior)
				return
			}
			live = rendered
			w.Save(ctx)
			see(w.Plan.Manifests)
		},
		refresh: func(r *reading) error {
			see(r.State.Manifests)
			r.State.Manifests = withArgument(live)
			r.Diags.AddWarning("Read", live)
			return nil
		},
		remove: func(_ context.Context, d *deleting) {
			see(d.State.Manifests)
			d.Diags.AddError("Not deleted", live)
		},
	}
	s := inCluster(t, "a", h)
	config := map[string]any{"name": "x", "sensitive_fields": secretPath("spec.args[1]")}
	var prior map[string]any
	check := func(step, placeholder string, value *tfprotov6.DynamicValue, diagnostics []*tfprotov6.Diagnostic) {
		t.Helper()
		out := s.outputs(value, diagnostics)
		if strings.Contains(out, "canary") || !strings.Contains(out, "(hidden)") ||
			!strings.Contains(out, placeholder) {
			t.Errorf("%s: want %s in\n%s", step, placeholder, out)
		}
		if slices.ContainsFunc(seen, func(text string) bool { return strings.Contains(text, "(sensitive") }) {
			t.Errorf("%s: a hook sees a placeholder: %s", step, seen)
		}
		if step != "plan of the creation" && !strings.Contains(strings.Join(seen, "\n"), "canary") {
			t.Errorf("%s: no hook sees a value: %s", step, seen)
		}
		seen = nil
	}
	change := func(step, placeholder, saved string) {
		t.Helper()
		s = inCluster(t, "a", h) // another run
		planned := s.planned(prior, config, nil)
		check("plan of "+step, placeholder, planned.PlannedState, planned.Diagnostics)
		state := s.null()
		if prior != nil {
			state = s.value(prior)
		}
		applied, err := s.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: "kt_thing",
			PriorState: state, PlannedState: planned.PlannedState, Config: s.value(config),
			PlannedPrivate: planned.PlannedPrivate})
		if err != nil {
			t.Fatal(err)
		}
		check(step, saved, applied.NewState, applied.Diagnostics)
		prior = s.attributes(applied.NewState)
	}
	refresh := func(step, placeholder string) {
		t.Helper()
		s = inCluster(t, "a", h)
		read := s.read(prior, nil)
		check(step, placeholder, read.NewState, read.Diagnostics)
		prior = s.attributes(read.NewState)
	}
	change("the creation", `(sensitive 1)`, `(sensitive 1)`)
	refresh("a refresh", `(sensitive 1)`)
	live = "canary-of-somebody"
	refresh("drift", `(sensitive 2)`)
	change("the repair", `(sensitive 3)`, `(sensitive 3)`)
	rendered = "canary-second"
	change("an update", `(sensitive 4)`, `(sensitive 4)`)
	rendered, fail = "canary-third", true
	change("a failed update", `(sensitive 5)`, `(sensitive 4)`)
	s = inCluster(t, "a", h)
	removed := s.remove(prior, map[string]string{"destroy": "true"})
	check("the deletion", "Not deleted", s.null(), removed.Diagnostics)
}

// The objects that a failed update has reached have the values of its configuration.
func TestAFailedUpdateHidesValuesAtItsOwnPaths(t *testing.T) {
	t.Parallel()
	rendered, fail := "plain", false
	h := &hooks{
		plan: func(p *planning) {
			p.Plan.Manifests, p.Plan.UID = withArgument(rendered), types.StringValue("u")
		},
		apply: func(ctx context.Context, w *writing) {
			if !fail {
				w.Save(ctx)
				return
			}
			w.Prior.Manifests = w.Plan.Manifests
			w.Diags.AddError("Partly applied", "")
			w.SaveAs(ctx, w.Prior)
		},
	}
	state := (*tfprotov6.DynamicValue)(nil)
	var prior map[string]any
	apply := func(config map[string]any) string {
		s := inCluster(t, "a", h)
		planned := s.planned(prior, config, nil)
		if state == nil {
			state = s.null()
		}
		applied, err := s.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: "kt_thing",
			PriorState: state, PlannedState: planned.PlannedState, Config: s.value(config),
			PlannedPrivate: planned.PlannedPrivate})
		if err != nil {
			t.Fatal(err)
		}
		state, prior = applied.NewState, s.attributes(applied.NewState)
		return s.outputs(applied.NewState, applied.Diagnostics)
	}
	if out := apply(map[string]any{"name": "x"}); !strings.Contains(out, "plain") {
		t.Fatal(out)
	}
	rendered, fail = "canary", true
	out := apply(map[string]any{"name": "x", "sensitive_fields": secretPath("spec.args[1]")})
	if strings.Contains(out, "canary") || !strings.Contains(out, "Partly applied") {
		t.Error(out)
	}
}

func TestAPathWithoutAValueIsAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fields    any
		manifests types.Map
		want      string
	}{
		"a value":         {secretPath("spec.args"), withArgument("a"), ""},
		"no value":        {secretPath("spec.arg"), withArgument("a"), "No value at the path"},
		"unknown objects": {secretPath("spec.arg"), types.MapUnknown(types.StringType), ""},
		"an unknown object": {secretPath("spec.arg"), types.MapValueMust(types.StringType,
			map[string]attr.Value{"Thing/ml/y": types.StringUnknown()}), ""},
		"a null object": {secretPath("spec.arg"), types.MapValueMust(types.StringType,
			map[string]attr.Value{"Thing/ml/y": types.StringNull()}), "No value at the path"},
		"unknown paths": {tftypes.UnknownValue, withArgument("a"), ""},
		"an unknown path": {[]tftypes.Value{tftypes.NewValue(tftypes.String, tftypes.UnknownValue)}, withArgument("a"),
			""},
	} {
		s := inCluster(t, "a", &hooks{plan: func(p *planning) { p.Plan.Manifests = c.manifests }})
		resp := s.planned(nil, map[string]any{"name": "x", "sensitive_fields": c.fields}, nil)
		got := errorSummary(t, resp.Diagnostics)
		if got != c.want || got != "" && resp.Diagnostics[0].Attribute.String() !=
			`AttributeName("sensitive_fields").ElementKeyInt(0)` {
			t.Errorf("%s: %v", name, resp.Diagnostics)
		}
		if out := s.outputs(resp.PlannedState, nil); c.fields == any(tftypes.UnknownValue) &&
			strings.Contains(out, "--token") {
			t.Errorf("%s: shows the object: %s", name, out)
		}
	}
}

func TestHiddenValuesOfAnotherObjectAreAnError(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]string{
		"no JSON": "{", "no such field": `{"/spec/none/0":{"value":"a","revision":1}}`,
	} {
		s := inCluster(t, "a", &hooks{refresh: func(*reading) error { return errors.New("is not called") }})
		resp := s.read(inState(map[string]any{
			"manifests": map[string]tftypes.Value{"Thing/ml/x": tftypes.NewValue(tftypes.String,
				`{"apiVersion":"v1","kind":"Thing","metadata":{"name":"x"}}`)},
			"sensitive_values": map[string]tftypes.Value{"Thing/ml/x": tftypes.NewValue(tftypes.String, values)},
		}), nil)
		if got := errorSummary(t, resp.Diagnostics); got != "Invalid state" {
			t.Errorf("%s: %v", name, resp.Diagnostics)
		}
	}
}

// Without manifests in the plan, the promises of sensitive_fields are the same.
func TestSensitiveFieldsOfACompactPlan(t *testing.T) {
	t.Parallel()
	h := &hooks{
		plan: func(p *planning) {
			p.Plan.Manifests, p.Plan.UID = withArgument("canary"), types.StringUnknown()
			p.Diags.AddWarning("Noted", "The server has said canary")
		},
		apply: func(_ context.Context, w *writing) {
			w.Plan.Manifests = withArgument("canary")
			w.Diags.AddError("Not applied", "canary")
		},
	}
	for name, c := range map[string]struct {
		fields  any
		matched bool
		hidden  bool // sensitive_values is unknown
	}{
		"no paths":             {nil, true, false},
		"a path":               {secretPath("spec.args[1]"), true, true},
		"a path without value": {secretPath("spec.arg"), false, true},
	} {
		s := inCluster(t, "a", h)
		s.data.Defaults.CompactPlans = true
		config := map[string]any{"name": "x", "sensitive_fields": c.fields}
		planned := s.planned(nil, config, nil)
		attributes := s.attributes(planned.PlannedState)
		if attributes["manifests"] != any(tftypes.UnknownValue) ||
			(attributes["sensitive_values"] == any(tftypes.UnknownValue)) != c.hidden {
			t.Errorf("%s: %v", name, attributes)
		}
		if got := errorSummary(t, planned.Diagnostics); (got == "") != c.matched {
			t.Errorf("%s: %v", name, planned.Diagnostics)
		}
		if c.fields == nil || !c.matched {
			continue
		}
		applied, err := s.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: "kt_thing",
			PriorState: s.null(), PlannedState: planned.PlannedState, Config: s.value(config),
			PlannedPrivate: planned.PlannedPrivate})
		if err != nil {
			t.Fatal(err)
		}
		out := s.outputs(planned.PlannedState, planned.Diagnostics) + s.outputs(s.null(), applied.Diagnostics)
		if strings.Contains(out, "canary") || strings.Count(out, "(hidden)") != 2 {
			t.Errorf("%s: shows %s", name, out)
		}
	}
}

func TestFieldIsHiddenIfAPathSelectsIt(t *testing.T) {
	t.Parallel()
	paths := func(elements ...attr.Value) types.List { return types.ListValueMust(types.StringType, elements) }
	for name, c := range map[string]struct {
		paths        types.List
		hides, known bool
	}{
		"no list":                {types.ListNull(types.StringType), false, true},
		"another field":          {paths(types.StringValue("data.other")), false, true},
		"the field":              {paths(types.StringValue("data.other"), types.StringValue("data.key")), true, true},
		"a field around it":      {paths(types.StringValue("data")), true, true},
		"an unknown list":        {types.ListUnknown(types.StringType), false, false},
		"a path that is unknown": {paths(types.StringValue("data.key"), types.StringUnknown()), false, false},
	} {
		common := lifecycle.Common{SensitiveFields: c.paths}
		if hides, known := common.Hides("data", "key"); hides != c.hides || known != c.known {
			t.Errorf("%s: %t, %t", name, hides, known)
		}
	}
}
