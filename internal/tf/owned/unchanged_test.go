package owned_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

func TestUnchangedComparesEmbeddedModels(t *testing.T) {
	t.Parallel()
	type Common struct{ Name types.String }
	type model struct {
		Common

		Size types.String
	}
	of := func(name, size string) *model {
		return &model{Common{types.StringValue(name)}, types.StringValue(size)}
	}
	for _, c := range []struct {
		plan *model
		want bool
	}{{of("a", "1"), true}, {of("b", "1"), false}, {of("a", "2"), false}} {
		if got := owned.Unchanged(c.plan, of("a", "1")); got != c.want {
			t.Errorf("%v: %t", c.plan, got)
		}
	}
	type other struct{ Count int }
	if owned.Unchanged(&other{1}, &other{1}) {
		t.Error("a field that is no attribute counts as unchanged")
	}
}

func TestUnchangedComparesEveryAttribute(t *testing.T) {
	t.Parallel()
	type model struct {
		Name      types.String
		Protected types.Bool
		Timeouts  timeouts.Value
	}
	state := model{Name: types.StringValue("a"), Protected: types.BoolValue(false)}
	for name, c := range map[string]struct {
		plan model
		want bool
	}{
		"equal attributes":            {model{Name: types.StringValue("a"), Protected: types.BoolValue(false)}, true},
		"the last attribute differs":  {model{Name: types.StringValue("a"), Protected: types.BoolValue(true)}, false},
		"the first attribute differs": {model{Name: types.StringValue("b"), Protected: types.BoolValue(false)}, false},
		"unknown instead of false":    {model{Name: types.StringValue("a"), Protected: types.BoolUnknown()}, false},
		"null instead of false":       {model{Name: types.StringValue("a"), Protected: types.BoolNull()}, false},
	} {
		if got := owned.Unchanged(&c.plan, &state); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
