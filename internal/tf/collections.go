package tf

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// NoNulls requires that no value of a map and no item of a list is null. It reports each null at its path.
func NoNulls() interface {
	validator.Map
	validator.List
} {
	return noNulls{}
}

type noNulls struct{}

func (noNulls) Description(context.Context) string { return "no null values" }

func (n noNulls) MarkdownDescription(ctx context.Context) string { return n.Description(ctx) }

func (noNulls) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	for key, value := range req.ConfigValue.Elements() {
		checkNotNull(req.Path.AtMapKey(key), value, &resp.Diagnostics)
	}
}

func (noNulls) ValidateList(_ context.Context, req validator.ListRequest, resp *validator.ListResponse) {
	for i, item := range req.ConfigValue.Elements() {
		checkNotNull(req.Path.AtListIndex(i), item, &resp.Diagnostics)
	}
}

func checkNotNull(at path.Path, value attr.Value, diags *diag.Diagnostics) {
	if value.IsNull() {
		diags.AddAttributeError(at, "Null value", at.String()+" is null: set a value, or remove it.")
	}
}
