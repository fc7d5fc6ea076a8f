package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/test/bench/answer"
)

// values are the attributes of a resource that kt has applied.
type values struct {
	answer.Answer

	attributes map[string]any
}

func readAnswers(path string) (map[string]values, error) {
	answers, err := answer.Read(path)
	if err != nil {
		return nil, err
	}
	all := map[string]values{}
	for variant, one := range answers {
		attributes, err := fromJSON(one.Attributes)
		if err != nil {
			return nil, err
		}
		all[variant] = values{one, attributes}
	}
	return all, nil
}

func driftEvery(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	return strconv.Atoi(text)
}

// resource is a resource of a request, and the one that kt has applied like it.
type resource struct {
	values

	index   int
	replace func(string) string
}

func (e echo) resourceOf(o object) (resource, error) {
	name, err := o.text("name")
	if err != nil {
		return resource{}, err
	}
	variant, index, err := answer.Split(name)
	if err != nil {
		return resource{}, err
	}
	applied, ok := e.answers[variant]
	if !ok {
		return resource{}, fmt.Errorf("there is no answer for the variant %q", variant)
	}
	namespace, err := o.text("namespace")
	if err != nil {
		return resource{}, err
	}
	generation := answer.First
	if bytes.Contains(o["labels"], []byte(answer.Second)) {
		generation = answer.Second
	}
	replace := applied.Replacer(name, namespace, generation).Replace
	return resource{values: applied, index: index, replace: replace}, nil
}

// fill sets an attribute to the applied value.
func (r resource) fill(o object, name string) error {
	value, err := mapStrings(r.attributes[name], r.replace)
	if err != nil {
		return err
	}
	return o.set(name, value)
}

// ReadResource returns the state, or a drifted label.
func (e echo) ReadResource(
	_ context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	resp := &tfprotov6.ReadResourceResponse{NewState: req.CurrentState, Private: req.Private,
		NewIdentity: req.CurrentIdentity}
	if e.driftEvery == 0 {
		return resp, nil
	}
	state, err := decode(req.CurrentState)
	if err != nil {
		return nil, err
	}
	r, err := e.resourceOf(state)
	if err != nil || r.index%e.driftEvery != 0 {
		return resp, err
	}
	if err := state.set("labels", map[string]string{answer.Generation: answer.Drifted}); err != nil {
		return nil, err
	}
	resp.NewState, err = state.encode()
	return resp, err
}

// PlanResourceChange returns the proposed state. If it differs from the prior one, computed attributes are planned
// like kt plans them.
func (e echo) PlanResourceChange(
	_ context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp := &tfprotov6.PlanResourceChangeResponse{
		PlannedState: req.ProposedNewState, PlannedPrivate: req.PriorPrivate, PlannedIdentity: req.PriorIdentity,
	}
	if isNull(req.ProposedNewState.MsgPack) || bytes.Equal(req.PriorState.MsgPack, req.ProposedNewState.MsgPack) {
		return resp, nil
	}
	planned, err := decode(req.ProposedNewState)
	if err != nil {
		return nil, err
	}
	schemas, err := e.schemas()
	if err != nil {
		return nil, err
	}
	schema := schemas[req.TypeName].Block
	for _, attribute := range schema.Attributes {
		if attribute.WriteOnly {
			planned[attribute.Name] = []byte(null)
		}
	}
	prior := object{}
	creating := isNull(req.PriorState.MsgPack)
	if !creating {
		if prior, err = decode(req.PriorState); err != nil {
			return nil, err
		}
	}
	if planned.equal(prior) {
		resp.PlannedState = req.PriorState
		return resp, nil
	}
	config, err := decode(req.Config)
	if err != nil {
		return nil, err
	}
	r, err := e.resourceOf(planned)
	if err != nil {
		return nil, err
	}
	for _, attribute := range schema.Attributes {
		if !attribute.Computed || !isNull(config[attribute.Name]) {
			continue
		}
		if err := r.plan(planned, attribute.Name, creating); err != nil {
			return nil, err
		}
	}
	resp.PlannedState, err = planned.encode()
	return resp, err
}

// plan sets a computed attribute. In an update, only the readiness becomes unknown.
func (r resource) plan(planned object, name string, creating bool) error {
	switch {
	case !slices.Contains(r.Unknown, name):
		return r.fill(planned, name)
	case creating, name == "ready":
		planned[name] = []byte(unknown)
	}
	return nil
}

// ApplyResourceChange returns the planned state, with applied values for unknown attributes.
func (e echo) ApplyResourceChange(
	_ context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	resp := &tfprotov6.ApplyResourceChangeResponse{NewState: req.PlannedState, Private: req.PlannedPrivate,
		NewIdentity: req.PlannedIdentity}
	if isNull(req.PlannedState.MsgPack) {
		return resp, nil
	}
	state, err := decode(req.PlannedState)
	if err != nil {
		return nil, err
	}
	r, err := e.resourceOf(state)
	if err != nil {
		return nil, err
	}
	for name, raw := range state {
		if string(raw) != unknown {
			continue
		}
		if err := r.fill(state, name); err != nil {
			return nil, err
		}
	}
	if resp.NewState, err = state.encode(); err != nil {
		return nil, err
	}
	if len(resp.Private) == 0 {
		resp.Private = r.Private
	}
	identity, err := object{"name": state["name"], "namespace": state["namespace"]}.encode()
	resp.NewIdentity = &tfprotov6.ResourceIdentityData{IdentityData: identity}
	return resp, err
}
