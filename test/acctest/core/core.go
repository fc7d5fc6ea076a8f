// Package core does with a provider what Terraform does in a run, at the level of
// its protocol and without its CLI: validate, refresh, plan, apply and import of a
// resource. So thousands of changes can be tested where the CLI adds nothing.
//
// It is as strict as Terraform: it passes states as JSON, plans again in the
// apply, and rejects the plans and results that Terraform rejects. A test in this
// package compares its requests with those of the CLI.
package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/zclconf/go-cty/cty"
)

// Schemas are those of a provider. They are the same in each of its processes.
type Schemas struct {
	block     cty.Type // of the provider block
	resources map[string]*tfprotov6.Schema
}

// SchemasOf requests the schemas of a server, which need not be configured.
func SchemasOf(ctx context.Context, server tfprotov6.ProviderServer) (*Schemas, error) {
	resp, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	block, err := ctyType(resp.Provider.ValueType())
	return &Schemas{block: block, resources: resp.ResourceSchemas}, err
}

// Command is one run of Terraform's CLI: a plan or an apply of any number of resources with one configured server.
type Command struct {
	server tfprotov6.ProviderServer
}

// Begin configures a server with the attributes of the provider block. Like Terraform, which requests the schemas of
// the first process of a provider only, it does not request them.
func (s *Schemas) Begin(ctx context.Context, server tfprotov6.ProviderServer, block string) (*Command, error) {
	config, err := parse(block, s.block)
	if err != nil {
		return nil, err
	}
	encoded, err := encode(config)
	if err != nil {
		return nil, err
	}
	resp, err := server.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{Config: encoded})
	if err != nil {
		return nil, err
	}
	_, err = problems(resp.Diagnostics)
	return &Command{server: server}, err
}

// Resource is a resource in a state.
type Resource struct {
	name     string // such as kt_compute
	state    []byte // JSON, nil if it does not exist
	private  []byte
	identity *tfprotov6.ResourceIdentityData
	schema   *tfprotov6.Schema
	typ      cty.Type
}

// NewResource returns a resource of a type that the provider has, and that does not exist.
func (s *Schemas) NewResource(name string) (*Resource, error) {
	schema := s.resources[name]
	if schema == nil {
		return nil, fmt.Errorf("there is no resource %s", name)
	}
	typ, err := ctyType(schema.ValueType())
	return &Resource{name: name, schema: schema, typ: typ}, err
}

// Action is what a plan does.
type Action string

// Actions of a plan.
const (
	NoOp    Action = "no-op"
	Create  Action = "create"
	Update  Action = "update"
	Replace Action = "replace"
	Delete  Action = "delete"
)

// Plan is a plan for a resource.
type Plan struct {
	Action        Action
	Before, After cty.Value // null if there is no object
	// Warnings of the refresh and of the plan, each as a summary, a line break and the detail.
	Warnings []string

	refreshed *Resource
	written   cty.Value // the configuration in the apply, where it is fully known
	config    cty.Value // the same with the attributes that lifecycle.ignore_changes has replaced
	private   []byte
	identity  *tfprotov6.ResourceIdentityData
}

// Attributes returns the names of the attributes that the plan changes.
func (p *Plan) Attributes() []string {
	if p.Before.IsNull() || p.After.IsNull() {
		return nil
	}
	var out []string
	for name, before := range p.Before.AsValueMap() {
		if !before.RawEquals(p.After.GetAttr(name)) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Decoded returns the values before and after as JSON decodes them. Unknown values are null.
func (p *Plan) Decoded() (before, after map[string]any, err error) {
	if before, err = decoded(p.Before); err == nil {
		after, err = decoded(p.After)
	}
	return before, after, err
}

// Attribute returns an attribute in state, as JSON decodes it. It is nil if the resource does not exist.
func (r *Resource) Attribute(name string) any { return r.Attributes()[name] }

// Attributes returns the attributes in state, as JSON decodes them. It is nil if the resource does not exist.
func (r *Resource) Attributes() map[string]any {
	var attributes map[string]any
	_ = json.Unmarshal(r.state, &attributes) // keep has written it
	return attributes
}

// State returns the resource in state as JSON. It is nil if the resource does not exist.
func (r *Resource) State() []byte { return r.state }

// Private returns the private state of the resource.
func (r *Resource) Private() []byte { return r.private }

// Forget removes the resource from state.
func (r *Resource) Forget() { r.state, r.private, r.identity = nil, nil, nil }

// Plan refreshes the resource and plans a configuration: the body of its block. The arguments of the function
// known_after_apply in it are unknown until the apply. ignored is lifecycle.ignore_changes: the names of attributes, or
// all.
func (r *Resource) Plan(ctx context.Context, c *Command, config string, ignored ...string) (*Plan, error) {
	value, err := parse(config, r.typ)
	if err != nil {
		return nil, err
	}
	applied, err := parse(Applied(config), r.typ)
	if err != nil {
		return nil, err
	}
	return r.plan(ctx, c.server, value, applied, ignored)
}

// Refresh updates the state to what the cluster has.
func (r *Resource) Refresh(ctx context.Context, c *Command) error {
	_, _, err := r.refresh(ctx, c.server)
	return err
}

// PlanDestroy plans to destroy the resource.
func (r *Resource) PlanDestroy(ctx context.Context, c *Command) (*Plan, error) {
	null := cty.NullVal(r.typ)
	return r.plan(ctx, c.server, null, null, nil)
}

func (r *Resource) validate(ctx context.Context, server tfprotov6.ProviderServer, value cty.Value) error {
	encoded, err := encode(value)
	if err != nil || value.IsNull() {
		return err
	}
	resp, err := server.ValidateResourceConfig(ctx, &tfprotov6.ValidateResourceConfigRequest{
		TypeName: r.name, Config: encoded,
		ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
	})
	if err != nil {
		return err
	}
	_, err = problems(resp.Diagnostics)
	return err
}

// plan refreshes the resource, and plans a value, of which all is known in the apply; null destroys it.
func (r *Resource) plan(
	ctx context.Context, server tfprotov6.ProviderServer, value, applied cty.Value, ignored []string,
) (*Plan, error) {
	refreshed := *r
	before, warnings, err := refreshed.refresh(ctx, server)
	if err != nil {
		return nil, err
	}
	if err := r.validate(ctx, server, value); err != nil {
		return nil, err
	}
	config := ignoring(before, value, ignored)
	p, replaces, err := refreshed.planned(ctx, server, before, config)
	if err != nil {
		return nil, err
	}
	p.config = ignoring(before, applied, ignored)
	if replaces { // Terraform ignores no attribute in the plan of the creation, and shows none of its warnings
		fresh := *r
		fresh.private, fresh.identity = p.private, p.identity
		again, _, err := fresh.planned(ctx, server, cty.NullVal(r.typ), value)
		if err != nil {
			return nil, err
		}
		p.Action, p.After, p.private, p.identity = Replace, again.After, again.private, again.identity
		p.config = applied
	}
	p.Warnings = append(warnings, p.Warnings...)
	p.refreshed, p.written = &refreshed, applied
	return p, nil
}

// refresh reads the resource, and returns its value.
func (r *Resource) refresh(ctx context.Context, server tfprotov6.ProviderServer) (cty.Value, []string, error) {
	null := cty.NullVal(r.typ)
	if r.state == nil {
		return null, nil, nil
	}
	upgraded, err := server.UpgradeResourceState(ctx, &tfprotov6.UpgradeResourceStateRequest{
		TypeName: r.name, Version: r.schema.Version, RawState: &tfprotov6.RawState{JSON: r.state},
	})
	if err != nil {
		return null, nil, err
	}
	if _, err := problems(upgraded.Diagnostics); err != nil {
		return null, nil, err
	}
	resp, err := server.ReadResource(ctx, &tfprotov6.ReadResourceRequest{
		TypeName: r.name, CurrentState: upgraded.UpgradedState, Private: r.private, CurrentIdentity: r.identity,
	})
	if err != nil {
		return null, nil, err
	}
	warnings, err := problems(resp.Diagnostics)
	if err != nil {
		return null, warnings, err
	}
	value, err := r.keep(resp.NewState, resp.Private, resp.NewIdentity)
	return value, warnings, err
}

// keep saves a new state as JSON, and returns it as the next run reads it.
func (r *Resource) keep(
	state *tfprotov6.DynamicValue, private []byte, identity *tfprotov6.ResourceIdentityData,
) (cty.Value, error) {
	value, err := decode(state, r.typ)
	if err != nil {
		return value, err
	}
	if value.IsNull() {
		r.Forget()
		return value, nil
	}
	if !value.IsWhollyKnown() {
		return value, errors.New("the state contains unknown values")
	}
	r.private, r.identity = private, identity
	r.state, err = toJSON(value, r.typ)
	return value, err
}

// planned plans the change of the resource from a value to a configuration.
func (r *Resource) planned(
	ctx context.Context, server tfprotov6.ProviderServer, before, config cty.Value,
) (p *Plan, replaces bool, err error) {
	p = &Plan{Before: before, After: config, Action: Delete}
	if before.IsNull() && config.IsNull() {
		p.Action = NoOp
		return p, false, nil
	}
	values, err := encodeAll(before, proposed(r.schema.Block.Attributes, before, config), config)
	if err != nil {
		return nil, false, err
	}
	resp, err := server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: r.name, PriorState: values[0], ProposedNewState: values[1], Config: values[2],
		PriorPrivate: r.private, PriorIdentity: r.identity,
	})
	if err != nil {
		return nil, false, err
	}
	if p.Warnings, err = problems(resp.Diagnostics); err != nil {
		return nil, false, err
	}
	if p.After, err = decode(resp.PlannedState, r.typ); err != nil {
		return nil, false, err
	}
	p.private, p.identity = resp.PlannedPrivate, resp.PlannedIdentity
	if config.IsNull() {
		return p, false, nil
	}
	if err := checkPlanned(r.schema.Block.Attributes, before, unrefined(config), unrefined(p.After)); err != nil {
		return nil, false, fmt.Errorf("invalid plan: %w", err)
	}
	switch {
	case before.IsNull():
		p.Action = Create
	case before.RawEquals(p.After):
		p.Action = NoOp
	default:
		p.Action = Update
	}
	return p, p.Action == Update && changesAny(before, p.After, resp.RequiresReplace), nil
}
