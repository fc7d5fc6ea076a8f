package provider

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/types"
)

// NewServer returns the protocol server of a provider of [New] or [NewWith]. It
// handles requests that the framework does not forward: the state of each resource
// before its plan, and the interruption of the run.
func NewServer(p provider.Provider) tfprotov6.ProviderServer {
	framework := providerserver.NewProtocol6(p)()
	own, ok := p.(*kt)
	complete, implements := framework.(frameworkServer)
	if !ok || !implements {
		return framework
	}
	return &server{frameworkServer: complete, kt: own}
}

// frameworkServer contains all interfaces that the server of the framework
// implements, because terraform-plugin-go serves only implemented interfaces.
type frameworkServer interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
	tfprotov6.StateStoreServer
}

type server struct {
	frameworkServer

	kt *kt

	once    sync.Once
	schemas map[string]*tfprotov6.Schema // of the resources
}

// ValidateResourceConfig removes diagnostics about attributes of unknown objects.
// The framework takes the attributes of unknown items of a list for null, and reports
// the required ones as missing:
// https://github.com/hashicorp/terraform-plugin-framework/issues/186
func (s *server) ValidateResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	resp, err := s.frameworkServer.ValidateResourceConfig(ctx, req)
	if err != nil || len(resp.Diagnostics) == 0 {
		return resp, err
	}
	s.once.Do(func() {
		schemas, err := s.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
		if err == nil {
			s.schemas = schemas.ResourceSchemas
		}
	})
	schema, ok := s.schemas[req.TypeName]
	if !ok {
		return resp, nil
	}
	config, err := req.Config.Unmarshal(schema.ValueType())
	if err != nil {
		return resp, nil //nolint:nilerr // the framework reports it
	}
	resp.Diagnostics = slices.DeleteFunc(resp.Diagnostics, func(d *tfprotov6.Diagnostic) bool {
		last, _, err := tftypes.WalkAttributePath(config, d.Attribute)
		value, ok := last.(tftypes.Value)
		return err != nil && ok && !value.IsKnown()
	})
	return resp, nil
}

// UpgradeResourceState records the object of a resource in state. Terraform sends
// this request for each resource before its plan, even without a refresh. For a
// tainted resource, it is the only request with the state.
func (s *server) UpgradeResourceState(
	ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	if cluster := s.kt.cluster.Load(); cluster != nil && req.RawState != nil {
		var state struct {
			ID  string    `json:"id"`
			UID types.UID `json:"uid"`
		}
		if err := json.Unmarshal(req.RawState.JSON, &state); err == nil { // otherwise the framework reports the error
			cluster.Hold(state.UID, req.TypeName+" "+state.ID)
		}
	}
	return s.frameworkServer.UpgradeResourceState(ctx, req)
}

// StopProvider is called when the run is interrupted. From then on, Terraform may
// exit before it writes the state of created objects.
func (s *server) StopProvider(
	ctx context.Context, req *tfprotov6.StopProviderRequest,
) (*tfprotov6.StopProviderResponse, error) {
	s.kt.completions.Interrupt()
	return s.frameworkServer.StopProvider(ctx, req)
}
