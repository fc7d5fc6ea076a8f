package secret

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// After a lost response, state has no UID. The apply sets it, which requires that the plan is unknown rather than
// null.
func TestUIDIsUnknownIfTheApplySetsIt(t *testing.T) {
	t.Parallel()
	none, some := types.StringNull(), types.StringValue("u")
	as := func(uid types.String, key, label string) model {
		return model{
			Common: lifecycle.Common{UID: uid, Manifests: tf.TextMap(map[string]string{"Secret/ml/token": label})},
			Keys:   tf.TextMap(map[string]string{"KEY": key}),
		}
	}
	for name, c := range map[string]struct {
		state, plan model
		creating    bool
		want        types.String
	}{
		"a creation":                       {model{}, as(none, "1", "a"), true, types.StringUnknown()},
		"nothing changes":                  {as(none, "1", "a"), as(none, "1", "a"), false, none},
		"a value changes":                  {as(none, "1", "a"), as(none, "2", "a"), false, types.StringUnknown()},
		"a label changes":                  {as(none, "1", "a"), as(none, "1", "b"), false, types.StringUnknown()},
		"a value of one with a UID":        {as(some, "1", "a"), as(some, "2", "a"), false, some},
		"a Secret with a UID is unchanged": {as(some, "1", "a"), as(some, "1", "a"), false, some},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := planner{planning: &planning{Creating: c.creating, State: &c.state, Plan: &c.plan}}
			if got := p.uid(); !got.Equal(c.want) {
				t.Errorf("uid is %s, want %s", got, c.want)
			}
		})
	}
}
