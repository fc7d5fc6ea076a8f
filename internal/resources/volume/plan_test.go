package volume

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// claimManifests returns the attribute manifests with a text for the claim.
func claimManifests(text string) types.Map {
	return types.MapValueMust(types.StringType,
		map[string]attr.Value{"PersistentVolumeClaim/ml/data": types.StringValue(text)})
}

// After a lost response, state has no UID. The next read or write of the claim sets it, which requires that it is
// unknown rather than null in the plan.
func TestUIDIsUnknownIfTheApplySetsIt(t *testing.T) {
	t.Parallel()
	none, known := types.StringNull(), types.StringValue("u")
	for name, c := range map[string]struct {
		uid              types.String
		manifests        types.Map
		resizes, waiting bool
		want             types.String
	}{
		"nothing changes":   {none, claimManifests("a"), false, false, none},
		"the claim changes": {none, claimManifests("b"), false, false, types.StringUnknown()},
		"the claim may change": {none, types.MapUnknown(types.StringType), false, false,
			types.StringUnknown()},
		"the claim grows":                 {none, claimManifests("b"), true, false, types.StringUnknown()},
		"the claim is awaited":            {none, claimManifests("a"), false, true, types.StringUnknown()},
		"a claim with a UID changes":      {known, claimManifests("b"), true, false, known},
		"a claim with a UID is awaited":   {known, claimManifests("a"), false, true, known},
		"a claim with a UID is unchanged": {known, claimManifests("a"), false, false, known},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := &model{
				Common:       lifecycle.Common{UID: c.uid, Manifests: claimManifests("a")},
				StorageClass: types.StringValue("standard"),
			}
			plan := *state
			plan.Manifests = c.manifests
			p := planner{
				planning: &planning{Plan: &plan, Config: &model{}, State: state,
					PrivateState: privateState{Waiting: c.waiting}},
				before: state, resizes: c.resizes,
			}
			p.setComputed()
			if !p.Plan.UID.Equal(c.want) {
				t.Errorf("uid is %s, want %s", p.Plan.UID, c.want)
			}
		})
	}
}

// Terraform passes neither the state nor the private state of a tainted volume.
func TestOnlyATaintedVolumeThatIsNotBoundIsReplacedWithAdoptExisting(t *testing.T) {
	t.Parallel()
	pendingClaim := strings.NewReplacer("volumeName: pv-1,", "", "Bound", "Pending").Replace(boundClaim)
	for name, c := range map[string]struct {
		claim, held string
		replaced    bool
	}{
		"a tainted volume":               {pendingClaim, "kt_volume ml/data", true},
		"a tainted volume that is bound": {boundClaim, "kt_volume ml/data", false},
		"a claim in no state":            {pendingClaim, "", false},
		"a claim of another resource":    {pendingClaim, "kt_volume ml/other", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, _ := clusterOf(t, map[string]string{claimsPath + "/data": c.claim})
			data.Run.Hold("u-1", c.held)
			p := planner{planning: &planning{Data: data, Plan: boundVolume(), Creating: true,
				Creation: func() *owned.Creation {
					return &owned.Creation{Type: "kt_volume", ID: "ml/data", Adopt: true, HeldBy: data.Run.HeldBy}
				}}}
			p.findExisting(t.Context())
			if replaced := p.replacedUID == "u-1"; replaced != c.replaced || (p.before == nil) != c.replaced {
				t.Errorf("replaced %q, adopted %+v, diagnostics %q", p.replacedUID, p.before, messages(p.Diags))
			}
		})
	}
}

func TestAdoptionOfAClaimThatIsBeingDeletedWarnsOfTheLossOfItsData(t *testing.T) {
	t.Parallel()
	deleted := strings.Replace(boundClaim, "uid: u-1", `uid: u-1, deletionTimestamp: "2026-01-02T03:04:05Z"`, 1)
	for name, c := range map[string]struct{ claim, warns string }{
		"being deleted": {deleted, "kubectl patch persistentvolume pv-1 -p '{"},
		"kept":          {boundClaim, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, _ := clusterOf(t, map[string]string{claimsPath + "/data": c.claim})
			p := planner{planning: &planning{Data: data, Plan: boundVolume(), Creating: true,
				Creation: func() *owned.Creation {
					return &owned.Creation{Type: "kt_volume", ID: "ml/data", Adopt: true, HeldBy: data.Run.HeldBy}
				}}}
			p.findExisting(t.Context())
			got := messages(p.Diags)
			if p.Diags.HasError() || (got == "") != (c.warns == "") || !strings.Contains(got, c.warns) {
				t.Errorf("%q, want %q", got, c.warns)
			}
		})
	}
}

func TestUIDRemainsNullIfTheClaimIsNotApplied(t *testing.T) {
	t.Parallel()
	prior := &model{
		Common:      lifecycle.Common{UID: types.StringNull()},
		claimStatus: claimStatus{Capacity: types.StringValue("1Gi")},
	}
	w := writer{&writing{Prior: prior, Plan: &model{
		Common: lifecycle.Common{UID: types.StringUnknown()}, claimStatus: unknownStatus(),
	}}}
	w.keepStatus()
	if !w.Plan.UID.IsNull() || w.Plan.claimStatus != prior.claimStatus {
		t.Errorf("%+v", w.Plan)
	}
}
