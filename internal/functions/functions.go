// Package functions implements the functions of the provider. They are pure: no cluster is needed.
package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// All returns the constructors of the functions.
func All() []func() function.Function {
	return []func() function.Function{newManifests, newQuantity, newDuration, newGPUsTotal, newFits}
}

// pure is a function that computes its result from its arguments.
type pure struct {
	name       string
	definition function.Definition
	run        func(ctx context.Context, arguments []tftypes.Value) (any, *function.FuncError)
}

// Metadata names the function.
func (p pure) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = p.name
}

// Definition describes the function.
func (p pure) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = p.definition
}

// Run computes the result.
func (p pure) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	arguments := make([]tftypes.Value, len(p.definition.Parameters))
	for i := range arguments {
		var argument attr.Value
		if resp.Error = req.Arguments.GetArgument(ctx, i, &argument); resp.Error != nil {
			return
		}
		var err error
		if arguments[i], err = argument.ToTerraformValue(ctx); err != nil {
			resp.Error = invalid(int64(i), err)
			return
		}
	}
	result, failed := p.run(ctx, arguments)
	if failed == nil {
		failed = resp.Result.Set(ctx, result)
	}
	resp.Error = failed
}

// invalid reports a problem of the argument at a position.
func invalid(position int64, err error) *function.FuncError {
	return function.NewArgumentFuncError(position, sentence(err))
}
