// Command noop is a provider with the schema of kt that does nothing: it sends no
// requests, renders nothing and never changes the state. The cost of its plan is
// the cost of Terraform itself, with which the benchmark compares kt.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	kt "github.com/ktdev/terraform-provider-kt/internal/provider"
	"github.com/ktdev/terraform-provider-kt/internal/resources/compute"
)

func main() {
	err := providerserver.Serve(context.Background(), func() provider.Provider { return idle{} },
		providerserver.ServeOpts{Address: "registry.terraform.io/ktdev/kt"})
	if err != nil {
		log.Fatal(err)
	}
}

type idle struct{}

func (idle) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "kt"
}

func (idle) Schema(ctx context.Context, req provider.SchemaRequest, resp *provider.SchemaResponse) {
	kt.New(ctx, "noop", config.Env{}, nil)().Schema(ctx, req, resp)
}

func (idle) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}

func (idle) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return idleCompute{} }}
}

func (idle) DataSources(context.Context) []func() datasource.DataSource { return nil }

type idleCompute struct{}

func (idleCompute) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_compute"
}

func (idleCompute) Schema(ctx context.Context, req resource.SchemaRequest, resp *resource.SchemaResponse) {
	compute.New().Schema(ctx, req, resp)
}

func (idleCompute) IdentitySchema(ctx context.Context, req resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	if r, ok := compute.New().(resource.ResourceWithIdentity); ok {
		r.IdentitySchema(ctx, req, resp)
	}
}

func (idleCompute) Create(_ context.Context, _ resource.CreateRequest, resp *resource.CreateResponse) {
	resp.Diagnostics.AddError("noop", "this provider only plans")
}

// Read keeps the state, but must set the identity again.
func (idleCompute) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	for _, name := range []string{"namespace", "name"} {
		var value types.String
		resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root(name), &value)...)
		resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root(name), value)...)
	}
}

func (idleCompute) Update(_ context.Context, _ resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.Diagnostics.AddError("noop", "this provider only plans")
}

func (idleCompute) Delete(_ context.Context, _ resource.DeleteRequest, resp *resource.DeleteResponse) {
	resp.Diagnostics.AddError("noop", "this provider only plans")
}
