package provider

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"k8s.io/apimachinery/pkg/types"
)

// NewServer serves a provider that [New] or [NewWith] made. It takes from the
// protocol what the framework does not pass on: what state says of each resource
// before it is planned, and that the run was interrupted.
func NewServer(p provider.Provider) tfprotov6.ProviderServer {
	framework := providerserver.NewProtocol6(p)()
	own, ok := p.(*kt)
	complete, implements := framework.(frameworkServer)
	if !ok || !implements {
		return framework
	}
	return &server{frameworkServer: complete, kt: own}
}

// frameworkServer is all that the framework's server implements. Of an interface
// with less, terraform-plugin-go would serve less.
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

// UpgradeResourceState notes which object a resource in state has. Terraform asks
// this of each resource before it plans it, also without a refresh, and tells
// nothing else of one that is tainted.
func (s *server) UpgradeResourceState(
	ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	if cluster := s.kt.cluster.Load(); cluster != nil && req.RawState != nil {
		var state struct {
			ID  string    `json:"id"`
			UID types.UID `json:"uid"`
		}
		if err := json.Unmarshal(req.RawState.JSON, &state); err == nil { // else the framework says what is wrong
			cluster.Hold(state.UID, req.TypeName+" "+state.ID)
		}
	}
	return s.frameworkServer.UpgradeResourceState(ctx, req)
}

// StopProvider comes when the run is interrupted. From then on Terraform may end
// before it writes the state of what is created.
func (s *server) StopProvider(
	ctx context.Context, req *tfprotov6.StopProviderRequest,
) (*tfprotov6.StopProviderResponse, error) {
	s.kt.completions.Interrupt()
	return s.frameworkServer.StopProvider(ctx, req)
}
