package owned

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// createdBy returns the attribute manifests with a Service for each creator. "" is a Service without a creator.
func createdBy(names ...string) types.Map {
	elements := map[string]attr.Value{}
	for i, name := range names {
		labels := `{"kubetorch.com/username":"` + name + `"}`
		if name == "" {
			labels = `{}`
		}
		key := "Service/ml/" + string(rune('a'+i))
		elements[key] = types.StringValue(`{"apiVersion":"v1","kind":"Service","metadata":{"labels":` + labels + `}}`)
	}
	return types.MapValueMust(types.StringType, elements)
}

func TestCreatorOfAppliedObjectsIsPreserved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		applied types.Map
		chosen  bool
		want    string
	}{
		"nothing was applied":             {types.MapNull(types.StringType), false, "now"},
		"the applied objects are unknown": {types.MapUnknown(types.StringType), false, "now"},
		"an object has a creator":         {createdBy("before"), false, "before"},
		"only the second object has one":  {createdBy("", "before"), false, "before"},
		"no object has one":               {createdBy("", ""), false, ""},
		"the provider block sets one":     {createdBy("before"), true, "now"},
		"the first of several creators":   {createdBy("first", "second"), false, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := PreserveCreator(tf.Defaults{Username: "now", UsernameChosen: c.chosen}, Manifests(c.applied))
			if got.Username != c.want {
				t.Errorf("got %q, want %q", got.Username, c.want)
			}
		})
	}
}

func TestImportedSettingsArePreservedOnlyInAPlanWithoutChanges(t *testing.T) {
	t.Parallel()
	type model struct{ Setting, Other types.String }
	text := types.StringValue
	for name, c := range map[string]struct{ plan, state, want model }{
		"nothing else changes": {model{text("new"), text("x")}, model{text("old"), text("x")},
			model{text("old"), text("x")}},
		"something else changes": {model{text("new"), text("y")}, model{text("old"), text("x")},
			model{text("new"), text("y")}},
		"the setting is new in the plan": {model{text("new"), text("x")}, model{types.StringNull(), text("x")},
			model{text("new"), text("x")}},
		"the setting is removed in the plan": {model{types.StringNull(), text("x")}, model{text("old"), text("x")},
			model{types.StringNull(), text("x")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := c.plan
			PreserveImported(&plan, &c.state,
				func() { PreserveSetting(&plan.Setting, c.state.Setting, c.plan.Setting) })
			if plan != c.want {
				t.Errorf("got %v, want %v", plan, c.want)
			}
		})
	}
}
