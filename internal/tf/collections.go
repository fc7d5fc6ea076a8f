package tf

import (
	"context"
	"iter"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
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

// Items decodes the items of a list of objects, by index. It skips items that are unknown or null.
func Items[T any](ctx context.Context, list types.List) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for i, element := range list.Elements() {
			object, ok := element.(types.Object)
			if !ok || object.IsNull() || object.IsUnknown() {
				continue
			}
			var item T
			if Object(ctx, object, &item).HasError() {
				continue // the schema reports the problem
			}
			if !yield(i, item) {
				return
			}
		}
	}
}
