package compute

import (
	"maps"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// A plan or refresh that changes only attributes that sameComputed omits would not be returned.
func TestEveryComputedAttributeIsCompared(t *testing.T) {
	t.Parallel()
	// These are configured, or have the default of the schema.
	constant := []string{"deletion_protection", "freeze", "runtime", "suspend"}
	null := nullState(t)
	for name, attribute := range null.Schema.GetAttributes() {
		if !attribute.IsComputed() {
			continue
		}
		var values map[string]tftypes.Value
		if err := null.Raw.As(&values); err != nil {
			t.Fatal(err)
		}
		values = maps.Clone(values)
		values[name] = tftypes.NewValue(values[name].Type(), tftypes.UnknownValue)
		changed := modelOf(t, tfsdk.State{Schema: null.Schema, Raw: tftypes.NewValue(null.Raw.Type(), values)})
		if same := modelOf(t, null).sameComputed(changed); same != slices.Contains(constant, name) {
			t.Errorf("%s: sameComputed returns %t for null and unknown", name, same)
		}
	}
}
