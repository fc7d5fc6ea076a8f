// Command echo is a provider with the schema of kt that returns what it receives:
// it sends no requests, renders no manifests, and decodes as little as possible. It
// implements the protocol without a framework, so a run with it measures the cost of
// Terraform itself for resources of this schema. The benchmark compares kt with it.
//
// Terraform does the same work for both providers: computed attributes and private state
// have the values of a resource that kt has applied, with other names. The processes of
// both have the same settings.
package main

import (
	"context"
	"log"
	"os"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/provider"
	"github.com/ktdev/terraform-provider-kt/test/bench/answer"
)

func main() {
	provider.PrepareProcess(false)
	served, err := newEcho(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	newServer := func() tfprotov6.ProviderServer { return served }
	if err := tf6server.Serve("registry.terraform.io/ktdev/kt", newServer); err != nil {
		log.Fatal(err)
	}
}

func newEcho(ctx context.Context) (tfprotov6.ProviderServer, error) {
	served, err := providerserver.NewProtocol6WithError(provider.New(ctx, "echo", config.Env{}, nil)())()
	if err != nil {
		return nil, err
	}
	schemas := sync.OnceValues(func() (map[string]*tfprotov6.Schema, error) {
		schema, err := served.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
		if err != nil {
			return nil, err
		}
		return schema.ResourceSchemas, nil
	})
	answers, err := readAnswers(os.Getenv(answer.File))
	if err != nil {
		return nil, err
	}
	driftEvery, err := driftEvery(os.Getenv(answer.DriftEvery))
	return echo{ProviderServer: served, schemas: schemas, answers: answers, driftEvery: driftEvery}, err
}

// echo implements the requests for resources. The schemas are those of kt.
type echo struct {
	tfprotov6.ProviderServer

	schemas    func() (map[string]*tfprotov6.Schema, error) // on demand: an unchanged resource needs none
	answers    map[string]values                            // by variant
	driftEvery int
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
