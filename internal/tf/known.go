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
