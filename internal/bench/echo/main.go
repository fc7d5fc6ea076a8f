// Command echo is a provider with the schema of kt that returns what it receives:
// it sends no requests, renders no manifests, and decodes as little as possible. It
// implements the protocol without a framework, so a run with it measures the cost of
// Terraform itself for resources of this schema. The benchmark compares kt with it.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/provider"
)

func main() {
	ctx := context.Background()
	served, err := providerserver.NewProtocol6WithError(provider.New(ctx, "echo", config.Env{}, nil)())()
	if err != nil {
		log.Fatal(err)
	}
	schema, err := served.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		log.Fatal(err)
	}
	if err := tf6server.Serve("registry.terraform.io/ktdev/kt", func() tfprotov6.ProviderServer {
		return echo{ProviderServer: served, schemas: schema.ResourceSchemas}
	}); err != nil {
		log.Fatal(err)
	}
}

// echo implements the requests for resources. The schemas are those of kt.
type echo struct {
	tfprotov6.ProviderServer

	schemas map[string]*tfprotov6.Schema
}

func (echo) ValidateProviderConfig(
	_ context.Context, req *tfprotov6.ValidateProviderConfigRequest,
) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: req.Config}, nil
}

func (echo) ConfigureProvider(
	context.Context, *tfprotov6.ConfigureProviderRequest,
) (*tfprotov6.ConfigureProviderResponse, error) {
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (echo) ValidateResourceConfig(
	context.Context, *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

// UpgradeResourceState returns the state unchanged, as JSON. Terraform accepts JSON
// as well as MessagePack.
func (echo) UpgradeResourceState(
	_ context.Context, req *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &tfprotov6.DynamicValue{JSON: req.RawState.JSON}}, nil
}

func (echo) ReadResource(
	_ context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{NewState: req.CurrentState, Private: req.Private,
		NewIdentity: req.CurrentIdentity}, nil
}

// PlanResourceChange returns the proposed state. In a creation, computed
// attributes are unknown.
func (e echo) PlanResourceChange(
	_ context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp := &tfprotov6.PlanResourceChangeResponse{
		PlannedState: req.ProposedNewState, PlannedPrivate: req.PriorPrivate, PlannedIdentity: req.PriorIdentity,
	}
	creating, err := req.PriorState.IsNull()
	if err != nil || !creating {
		return resp, err
	}
	resp.PlannedState, err = e.change(req.TypeName, req.ProposedNewState,
		func(attribute *tfprotov6.SchemaAttribute, value tftypes.Value) tftypes.Value {
			if attribute.Computed && value.IsNull() {
				return tftypes.NewValue(attribute.ValueType(), tftypes.UnknownValue)
			}
			return value
		})
	return resp, err
}

// ApplyResourceChange returns the planned state. In a creation, unknown attributes
// become null.
func (e echo) ApplyResourceChange(
	_ context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	resp := &tfprotov6.ApplyResourceChangeResponse{NewState: req.PlannedState, Private: req.PlannedPrivate,
		NewIdentity: req.PlannedIdentity}
	creating, err := req.PriorState.IsNull()
	if err != nil || !creating {
		return resp, err
	}
	identity := map[string]tftypes.Value{}
	resp.NewState, err = e.change(req.TypeName, req.PlannedState,
		func(attribute *tfprotov6.SchemaAttribute, value tftypes.Value) tftypes.Value {
			if !value.IsFullyKnown() {
				value = tftypes.NewValue(attribute.ValueType(), nil)
			}
			if attribute.Name == "name" || attribute.Name == "namespace" {
				identity[attribute.Name] = value
			}
			return value
		})
	if err != nil {
		return nil, err
	}
	known := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String,
		"namespace": tftypes.String}}
	data, err := tfprotov6.NewDynamicValue(known, tftypes.NewValue(known, identity))
	resp.NewIdentity = &tfprotov6.ResourceIdentityData{IdentityData: &data}
	return resp, err
}

// change replaces the attributes of a value one by one.
func (e echo) change(
	resourceType string, in *tfprotov6.DynamicValue, with func(*tfprotov6.SchemaAttribute, tftypes.Value) tftypes.Value,
) (*tfprotov6.DynamicValue, error) {
	schema := e.schemas[resourceType]
	value, err := in.Unmarshal(schema.ValueType())
	if err != nil {
		return nil, err
	}
	attributes := map[string]tftypes.Value{}
	if err := value.As(&attributes); err != nil {
		return nil, err
	}
	for _, attribute := range schema.Block.Attributes {
		attributes[attribute.Name] = with(attribute, attributes[attribute.Name])
	}
	out, err := tfprotov6.NewDynamicValue(schema.ValueType(), tftypes.NewValue(schema.ValueType(), attributes))
	return &out, err
}
