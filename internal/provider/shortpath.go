package provider

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/decode"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// resourceType is a resource type, with what the server needs to handle requests about it without the framework.
type resourceType struct {
	servable
	version int64
	wire    tftypes.Object
	path    lifecycle.ShortPath // only in a shortPath
}

// servable are the methods of [lifecycle.Resource] that the framework does not call.
type servable interface {
	NewShortPath(context.Context, *tf.ProviderData) (lifecycle.ShortPath, error)
	WithoutDefaults(context.Context, tftypes.Value) (tftypes.Value, diag.Diagnostics)
}

// resourceTypes returns the types of the resources by their names.
func (p *kt) resourceTypes() (map[string]resourceType, error) {
	types := map[string]resourceType{}
	for _, newResource := range p.Resources(p.ctx) {
		one := newResource()
		var name resource.MetadataResponse
		one.Metadata(p.ctx, resource.MetadataRequest{}, &name)
		var found resource.SchemaResponse
		one.Schema(p.ctx, resource.SchemaRequest{}, &found)
		with, ok := one.(servable)
		wire, isObject := found.Schema.Type().TerraformType(p.ctx).(tftypes.Object)
		if !ok || !isObject {
			return nil, fmt.Errorf("%s has no short path", name.TypeName)
		}
		types[name.TypeName] = resourceType{servable: with, version: found.Schema.Version, wire: wire}
	}
	return types, nil
}

// shortPath answers requests about resources that nothing changes by [lifecycle.ShortPath]. Its methods return nil for
// a request that the framework has to handle; those of a nil shortPath always do. See docs/adr/0021-short-path.md.
type shortPath struct {
	types map[string]resourceType // by the name of the resource type
}

// newShortPath returns the short path of a provider. Without data, it can only validate.
func (s *server) newShortPath(ctx context.Context, data *tf.ProviderData) (*shortPath, error) {
	types, err := s.types()
	if err != nil {
		return nil, err
	}
	short := &shortPath{types: map[string]resourceType{}}
	for name, of := range types {
		if of.path, err = of.NewShortPath(ctx, data); err != nil {
			return nil, err
		}
		short.types[name] = of
	}
	return short, nil
}

func (s *shortPath) of(name string) (resourceType, bool) {
	if s == nil {
		return resourceType{}, false
	}
	short, ok := s.types[name]
	return short, ok
}

// upgradeState answers with the state as it is, if it conforms to the schema. attributes are those of the state.
func (s *shortPath) upgradeState(
	req *tfprotov6.UpgradeResourceStateRequest, attributes map[string]json.RawMessage,
) *tfprotov6.UpgradeResourceStateResponse {
	short, ok := s.of(req.TypeName)
	if !ok || req.Version != short.version || !decode.Conforms(attributes, short.wire) {
		return nil
	}
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &tfprotov6.DynamicValue{JSON: req.RawState.JSON}}
}

// validate answers that a configuration is valid.
func (s *shortPath) validate(
	ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest,
) *tfprotov6.ValidateResourceConfigResponse {
	short, ok := s.of(req.TypeName)
	if !ok || !isMsgPack(req.Config) || req.ClientCapabilities == nil ||
		!req.ClientCapabilities.WriteOnlyAttributesAllowed || !short.path.Valid(ctx, req.Config.MsgPack) {
		return nil
	}
	return &tfprotov6.ValidateResourceConfigResponse{}
}

// read answers that the refresh of a resource changes nothing.
func (s *shortPath) read(ctx context.Context, req *tfprotov6.ReadResourceRequest) *tfprotov6.ReadResourceResponse {
	short, ok := s.of(req.TypeName)
	if !ok || !isMsgPack(req.CurrentState) {
		return nil
	}
	private, ok := privateState(req.Private)
	if !ok {
		return nil
	}
	identity, unchanged := short.path.Read(ctx, req.CurrentState.MsgPack, private)
	if !unchanged {
		return nil
	}
	current, ok := identityData(req.CurrentIdentity, identity)
	if !ok {
		return nil
	}
	return &tfprotov6.ReadResourceResponse{NewState: req.CurrentState, Private: req.Private, NewIdentity: current}
}

// plan answers that a plan changes nothing. The configuration is as it was validated. keep then records that the run
// keeps the resource; it is false if the framework has to report a conflict.
func (s *shortPath) plan(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (resp *tfprotov6.PlanResourceChangeResponse, keep func() bool) {
	short, ok := s.of(req.TypeName)
	if !ok || !isMsgPack(req.PriorState) || !isMsgPack(req.ProposedNewState) {
		return nil, nil
	}
	private, ok := privateState(req.PriorPrivate)
	if !ok {
		return nil, nil
	}
	keep, unchanged := short.path.Plan(ctx, req.Config.MsgPack, req.PriorState.MsgPack, req.ProposedNewState.MsgPack,
		private)
	if !unchanged {
		return nil, nil
	}
	identity := req.PriorIdentity
	if identity == nil {
		identity = &tfprotov6.ResourceIdentityData{IdentityData: &tfprotov6.DynamicValue{MsgPack: []byte{msgPackNil}}}
	}
	return &tfprotov6.PlanResourceChangeResponse{
		PlannedState: req.PriorState, PlannedPrivate: req.PriorPrivate, PlannedIdentity: identity,
	}, keep
}

const msgPackNil = 0xc0

// isMsgPack reports whether a value is not null, and in MessagePack.
func isMsgPack(value *tfprotov6.DynamicValue) bool {
	return value != nil && len(value.MsgPack) > 0 && value.MsgPack[0] != msgPackNil
}

// configID returns the id of a configuration. It is false if the name or the namespace is unknown.
func configID(resourceType string, config *tfprotov6.DynamicValue) (string, bool) {
	if !isMsgPack(config) {
		return "", false
	}
	texts, err := decode.Texts(config.MsgPack, "name", "namespace")
	if err != nil || texts["name"] == "" {
		return "", false
	}
	return tf.ConfigID(resourceType, texts["namespace"], texts["name"]), true
}

// privateState decodes private state in the format of the framework. It is false if the state contains keys of the
// framework itself, which start with a dot: it has been imported and not read yet.
func privateState(data []byte) (map[string][]byte, bool) {
	if len(data) == 0 {
		return nil, true
	}
	var decoded map[string][]byte
	if err := json.Unmarshal(data, &decoded); err != nil {
		return nil, false
	}
	for key := range decoded {
		if key == "" || key[0] == '.' {
			return nil, false
		}
	}
	return decoded, true
}

// identityData returns the identity as Terraform stores it. It is false if Terraform has stored another one.
func identityData(
	current *tfprotov6.ResourceIdentityData, identity owned.Identity,
) (*tfprotov6.ResourceIdentityData, bool) {
	if current != nil && isMsgPack(current.IdentityData) {
		texts, err := decode.Texts(current.IdentityData.MsgPack, "name", "namespace")
		return current, err == nil && texts["name"] == identity.Name.ValueString() &&
			texts["namespace"] == identity.Namespace.ValueString()
	}
	typ := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String, "namespace": tftypes.String}}
	value, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, map[string]tftypes.Value{
		"name":      tftypes.NewValue(tftypes.String, identity.Name.ValueString()),
		"namespace": tftypes.NewValue(tftypes.String, identity.Namespace.ValueString()),
	}))
	return &tfprotov6.ResourceIdentityData{IdentityData: &value}, err == nil
}
