package secret

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// After a lost response, state has no UID. The apply sets it, which requires that the plan is unknown rather than
// null.
func TestUIDIsUnknownIfTheApplySetsIt(t *testing.T) {
	t.Parallel()
	none, known := types.StringNull(), types.StringValue("u")
	secret := func(uid types.String, key, label string) model {
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
		"creation":                    {model{}, secret(none, "1", "a"), true, types.StringUnknown()},
		"nothing changes":             {secret(none, "1", "a"), secret(none, "1", "a"), false, none},
		"a value changes":             {secret(none, "1", "a"), secret(none, "2", "a"), false, types.StringUnknown()},
		"a label changes":             {secret(none, "1", "a"), secret(none, "1", "b"), false, types.StringUnknown()},
		"a value changes, with a UID": {secret(known, "1", "a"), secret(known, "2", "a"), false, known},
		"nothing changes, with a UID": {secret(known, "1", "a"), secret(known, "1", "a"), false, known},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := planner{planning: &planning{Creating: c.creating, State: &c.state, Plan: &c.plan}}
			if got := p.UID(p.State.UID, !p.isSecretUnchanged()); !got.Equal(c.want) {
				t.Errorf("uid is %s, want %s", got, c.want)
			}
		})
	}
}

// The revisions of a new Secret start at 1 again, so equal texts would hide which values change.
func TestReplacementShowsTheKeysThatChange(t *testing.T) {
	t.Parallel()
	before := spec.Digests{}.WithSealer(spec.NewSealer())
	before.Values["same"], before.Values["changed"] = before.First("same", []byte("1")), before.First("changed", nil)
	p := planner{planning: &planning{Creating: true, State: &model{}, Plan: &model{}, Config: &model{},
		Data: &tf.ProviderData{Unknown: true}, ReplacedPrivateState: privateState{Digests: before}}}
	p.PrivateState.open(p.Data)
	c := content{data: map[string][]byte{"same": []byte("1"), "changed": []byte("2"), "new": []byte("3")}}
	planned := p.revisions().planned(c)
	first := types.StringValue(spec.FirstText)
	want := types.MapValueMust(types.StringType, map[string]attr.Value{"same": first, "new": first,
		"changed": types.StringUnknown()})
	if !planned.Equal(want) {
		t.Errorf("the plan has %s, want %s", planned, want)
	}
	entries, diags := p.revisions().resolveEntries(c, planned)
	if diags.HasError() || entries["changed"].Text != spec.FirstText {
		t.Errorf("the apply has %v: %v", entries["changed"].Text, diags)
	}
}
