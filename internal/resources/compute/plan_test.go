package compute

import (
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// A plan or refresh that changes only an attribute that is not compared would not be returned.
func TestEveryAttributeIsCompared(t *testing.T) {
	t.Parallel()
	null := nullState(t)
	for name := range null.Schema.GetAttributes() {
		var values map[string]tftypes.Value
		if err := null.Raw.As(&values); err != nil {
			t.Fatal(err)
		}
		values = maps.Clone(values)
		values[name] = tftypes.NewValue(values[name].Type(), tftypes.UnknownValue)
		changed := modelOf(t, tfsdk.State{Schema: null.Schema, Raw: tftypes.NewValue(null.Raw.Type(), values)})
		if owned.Unchanged(modelOf(t, null), changed) {
			t.Errorf("%s: null and unknown are the same", name)
		}
	}
}
