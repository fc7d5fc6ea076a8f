package tf

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
)

// FullyKnown reports whether all values are known, including nested values.
func FullyKnown(ctx context.Context, values ...attr.Value) bool {
	for _, value := range values {
		raw, err := value.ToTerraformValue(ctx)
		if err != nil || !raw.IsFullyKnown() {
			return false
		}
	}
	return true
}

// Given returns the names of the attributes that are set to known values, and whether others are unknown: these may be
// null.
func Given(names []string, attribute func(name string) attr.Value) (given []string, unknown bool) {
	for _, name := range names {
		value := attribute(name)
		unknown = unknown || value.IsUnknown()
		if !value.IsNull() && !value.IsUnknown() {
			given = append(given, name)
		}
	}
	return given, unknown
}
