package core_test

import (
	"context"
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// fake is a provider with a resource that has the attribute a and the computed attribute b.
type fake struct {
	tfprotov6.ProviderServer

	b        string // planned
	replaces bool
	// final, if not nil, changes the provider before it plans a configuration that is fully known.
	final   func(*fake)
	applied int
}

func fakeSchema() *tfprotov6.Schema {
	return &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{Attributes: []*tfprotov6.SchemaAttribute{
		{Name: "a", Type: tftypes.String, Optional: true}, {Name: "b", Type: tftypes.String, Computed: true},
	}}}
}

func (f *fake) GetProviderSchema(
	context.Context, *tfprotov6.GetProviderSchemaRequest,
) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{Provider: &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{}},
		ResourceSchemas: map[string]*tfprotov6.Schema{"fake": fakeSchema()}}, nil
}

func (f *fake) ConfigureProvider(
	context.Context, *tfprotov6.ConfigureProviderRequest,
) (*tfprotov6.ConfigureProviderResponse, error) {
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (f *fake) ValidateResourceConfig(
	context.Context, *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (f *fake) UpgradeResourceState(
	_ context.Context, req *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &tfprotov6.DynamicValue{JSON: req.RawState.JSON}}, nil
}

func (f *fake) ReadResource(
	_ context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{NewState: req.CurrentState}, nil
}

func (f *fake) PlanResourceChange(
	_ context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	typ := fakeSchema().ValueType()
	config, err := req.Config.Unmarshal(typ)
	if err != nil {
		return nil, err
	}
	var values map[string]tftypes.Value
	if err := config.As(&values); err != nil {
		return nil, err
	}
	if f.final != nil && config.IsFullyKnown() {
		f.final(f)
	}
	values["b"] = tftypes.NewValue(tftypes.String, f.b)
	planned, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, values))
	resp := &tfprotov6.PlanResourceChangeResponse{PlannedState: &planned}
	if f.replaces {
		resp.RequiresReplace = []*tftypes.AttributePath{tftypes.NewAttributePath().WithAttributeName("a")}
	}
	return resp, err
}

func (f *fake) ApplyResourceChange(
	_ context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	f.applied++
	return &tfprotov6.ApplyResourceChangeResponse{NewState: req.PlannedState}, nil
}

// An update with an unknown value may become a smaller one in the apply, but nothing else.
func TestTheApplyKnowsWhatThePlanDoesNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config       string
		final        func(*fake)
		a            string // after the apply
		applied      int
		inconsistent bool
	}{
		"another value":         {config: `a = known_after_apply("2")`, a: "2", applied: 1},
		"the same value":        {config: `a = known_after_apply("1")`, a: "1"},
		"a value that replaces": {`a = known_after_apply("2")`, func(f *fake) { f.replaces = true }, "1", 0, true},
		"another known value":   {`a = known_after_apply("2")`, func(f *fake) { f.b = "y" }, "1", 0, true},
	} {
		provider := &fake{b: "x"}
		schemas, err := core.SchemasOf(t.Context(), provider)
		if err != nil {
			t.Fatal(err)
		}
		command, err := schemas.Begin(t.Context(), provider, "")
		if err != nil {
			t.Fatal(err)
		}
		r, err := schemas.NewResource("fake")
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.Plan(t.Context(), command, `a = "1"`)
		if err == nil {
			_, err = r.Apply(t.Context(), command, p)
		}
		if err != nil {
			t.Fatal(err)
		}
		provider.applied, provider.final = 0, c.final
		if p, err = r.Plan(t.Context(), command, c.config); err != nil || p.Action != core.Update {
			t.Fatalf("%s: the plan is %v: %v", name, p, err)
		}
		if _, err = r.Apply(t.Context(), command, p); errors.Is(err, core.ErrInconsistentPlan) != c.inconsistent ||
			!c.inconsistent && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if a := r.Attribute("a"); a != c.a || provider.applied != c.applied {
			t.Errorf("%s: a is %v after %d applies", name, a, provider.applied)
		}
	}
}
