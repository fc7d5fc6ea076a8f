package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/resources/compute"
)

func newManifests() function.Function {
	return pure{name: "manifests", run: renderManifests, definition: function.Definition{
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
	}}
}

func renderManifests(ctx context.Context, arguments []tftypes.Value) (any, *function.FuncError) {
	rendered, known, err := compute.Manifests(ctx, arguments[0])
	switch {
	case err != nil:
		return nil, invalid(0, err)
	case !known:
		return types.MapUnknown(types.StringType), nil
	}
	return rendered, nil
}
