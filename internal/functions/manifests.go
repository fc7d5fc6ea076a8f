package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/resources/compute"
)

type manifestsFunction struct{}

func newManifests() function.Function { return manifestsFunction{} }

// Metadata names the function.
func (manifestsFunction) Metadata(
	_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse,
) {
	resp.Name = "manifests"
}

// Definition describes the function.
func (manifestsFunction) Definition(
	_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse,
) {
	resp.Definition = function.Definition{
		Summary: "Renders a compute into Kubernetes objects",
		MarkdownDescription: "Returns the Kubernetes objects of a `kt_compute`, without a cluster: a map from " +
			"`Kind/namespace/name` to JSON, as in the attribute `manifests` of its first plan. The arguments of the " +
			"compute are validated as for the resource. Settings of the provider block and environment variables do " +
			"not apply, and the namespace defaults to `default`.",
		Parameters: []function.Parameter{function.DynamicParameter{
			Name: "config",
			MarkdownDescription: "Object with arguments of [`kt_compute`](../resources/compute.md). Arguments that " +
				"it does not contain are null.",
		}},
		Return: function.MapReturn{ElementType: types.StringType},
	}
}

// Run renders the argument.
func (manifestsFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var config types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &config); resp.Error != nil {
		return
	}
	raw, err := config.ToTerraformValue(ctx)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, sentence(err))
		return
	}
	rendered, known, err := compute.Manifests(ctx, raw)
	switch {
	case err != nil:
		resp.Error = function.NewArgumentFuncError(0, sentence(err))
	case !known:
		resp.Error = resp.Result.Set(ctx, types.MapUnknown(types.StringType))
	default:
		resp.Error = resp.Result.Set(ctx, rendered)
	}
}
