package provider

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
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
