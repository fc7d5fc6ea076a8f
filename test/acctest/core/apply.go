package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/zclconf/go-cty/cty"
)

// ErrInconsistentPlan is "Provider produced inconsistent final plan": the plan in the apply differs from the first one
// in more than values that were unknown. Nothing was changed, except that a replaced object was deleted.
var ErrInconsistentPlan = errors.New("inconsistent final plan")

// Apply applies a plan. Like Terraform, it plans again before it creates or updates, with the values that are known by
// then. The new plan must have the same action, or change nothing, and every value that was known in the first one. See
// checkPlannedChange in internal/terraform/node_resource_apply_instance.go of Terraform 1.16. If an error occurs, the
// resource may have another state nevertheless.
func (r *Resource) Apply(ctx context.Context, c *Command, p *Plan) (warnings []string, err error) {
	refreshed, before := p.refreshed, p.Before
	r.state, r.private, r.identity = refreshed.state, refreshed.private, refreshed.identity
	switch p.Action {
	case NoOp:
		return nil, nil
	case Create, Update:
	case Delete:
		return r.change(ctx, c.server, p)
	case Replace:
		null := cty.NullVal(r.typ)
		deletion := &Plan{Before: before, After: null, written: null, private: p.private, identity: p.identity}
		if warnings, err = r.change(ctx, c.server, deletion); err != nil {
			return warnings, err
		}
		before = null
	}
	if err := r.validate(ctx, c.server, p.written); err != nil {
		return warnings, err
	}
	again, replaces, err := r.planned(ctx, c.server, before, p.config)
	if err != nil {
		return warnings, err
	}
	if replaces {
		return warnings, fmt.Errorf("%w: the action changes from %s to %s", ErrInconsistentPlan, p.Action, Replace)
	}
	if err := compatible(p.After, again.After); err != nil {
		return warnings, fmt.Errorf("%w: %w", ErrInconsistentPlan, err)
	}
	if again.Action == NoOp {
		return warnings, nil
	}
	again.written = p.written
	more, err := r.change(ctx, c.server, again)
	return append(warnings, more...), err
}

// change sends the final plan of a change to the provider.
func (r *Resource) change(ctx context.Context, server tfprotov6.ProviderServer, p *Plan) ([]string, error) {
	config := p.written
	values, err := encodeAll(p.Before, p.After, config)
	if err != nil {
		return nil, err
	}
	resp, err := server.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: r.name, PriorState: values[0], PlannedState: values[1], Config: values[2], PlannedPrivate: p.private,
		PlannedIdentity: p.identity,
	})
	if err != nil {
		return nil, err
	}
	warnings, failed := problems(resp.Diagnostics)
	value, err := r.keep(resp.NewState, resp.Private, resp.NewIdentity)
	if err := errors.Join(failed, err); err != nil {
		return warnings, err
	}
	if config.IsNull() != value.IsNull() {
		return warnings, errors.New("inconsistent result: the object exists although it should not, or does not")
	}
	if err := compatible(p.After, value); err != nil {
		return warnings, fmt.Errorf("inconsistent result: %w", err)
	}
	return warnings, nil
}
