package volume

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// objects returns the attribute manifests with one object.
func objects(text string) types.Map {
	return types.MapValueMust(types.StringType,
		map[string]attr.Value{"PersistentVolumeClaim/ml/data": types.StringValue(text)})
}

// After a lost response, state has no UID. The next read or write of the claim sets it, which requires that the plan
// is unknown rather than null.
func TestUIDIsUnknownIfTheApplySetsIt(t *testing.T) {
	t.Parallel()
	none, some := types.StringNull(), types.StringValue("u")
	for name, c := range map[string]struct {
		uid              types.String
		manifests        types.Map
		resizes, waiting bool
		want             types.String
	}{
		"nothing changes":   {none, objects("a"), false, false, none},
		"the claim changes": {none, objects("b"), false, false, types.StringUnknown()},
		"the claim may change": {none, types.MapUnknown(types.StringType), false, false,
			types.StringUnknown()},
		"it grows":                        {none, objects("b"), true, false, types.StringUnknown()},
		"it is awaited":                   {none, objects("a"), false, true, types.StringUnknown()},
		"a claim with a UID changes":      {some, objects("b"), true, false, some},
		"a claim with a UID is awaited":   {some, objects("a"), false, true, some},
		"a claim with a UID is unchanged": {some, objects("a"), false, false, some},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := &model{
				Common:       lifecycle.Common{UID: c.uid, Manifests: objects("a")},
				StorageClass: types.StringValue("standard"),
			}
			plan := *state
			plan.Manifests = c.manifests
			p := planner{
				planning: &planning{Plan: &plan, Config: &model{}, State: state,
					PrivateState: privateState{Waiting: c.waiting}},
				before: state, resizes: c.resizes,
			}
			p.computed()
			if !p.Plan.UID.Equal(c.want) {
				t.Errorf("uid is %s, want %s", p.Plan.UID, c.want)
			}
		})
	}
}

func TestUIDWithoutAResponseRemainsNull(t *testing.T) {
	t.Parallel()
	prior := &model{
		Common:      lifecycle.Common{UID: types.StringNull()},
		claimStatus: claimStatus{Capacity: types.StringValue("1Gi")},
	}
	w := writer{&writing{Plan: &model{
		Common: lifecycle.Common{UID: types.StringUnknown()}, claimStatus: unknownStatus(),
	}}}
	w.keepStatus(prior)
	if !w.Plan.UID.IsNull() || w.Plan.claimStatus != prior.claimStatus {
		t.Errorf("%+v", w.Plan)
	}
}
