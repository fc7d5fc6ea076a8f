package compute

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Values of on_expiry.
const (
	recreateOnExpiry = "recreate"
	keepOnExpiry     = "keep_suspended"
)

// deletedObject is an applied object that the cluster no longer has.
type deletedObject struct {
	key string
	ref kube.Ref
}

// keepsExpired reports whether the compute stays in state after Kubetorch has deleted it.
func (m *model) keepsExpired() bool { return m.OnExpiry.ValueString() == keepOnExpiry }

// reportExpired warns about the objects that Kubetorch has probably deleted. After inactivity_ttl, it deletes the
// workload with all its objects, and leaves no trace of the reason in the cluster. With keep_suspended, they stay in
// current, so that the next plan shows no change.
func (r *reader) reportExpired(applied, current owned.Objects) {
	r.PrivateState.Expired = nil
	if len(r.expired) == 0 {
		return
	}
	var names []string
	for _, deleted := range r.expired {
		names = append(names, deleted.ref.String())
		if r.State.keepsExpired() {
			current[deleted.key] = applied[deleted.key]
			r.PrivateState.Expired = append(r.PrivateState.Expired, deleted.key)
		}
	}
	consequence := "The next apply creates it again.\n\n" +
		"Next step: To keep it running, increase or remove inactivity_ttl. To keep it deleted, set on_expiry = " +
		`"` + keepOnExpiry + `", or remove the resource from the configuration.`
	if r.State.keepsExpired() {
		r.PrivateState.Unready = false // otherwise the next plan shows a wait
		consequence = "With on_expiry = \"" + keepOnExpiry + "\", it is created again when its configuration " +
			"changes, or with\n  terraform apply -replace=ADDRESS"
	}
	r.Diags.AddAttributeWarning(path.Root("inactivity_ttl"), "The compute was deleted, probably by Kubetorch",
		fmt.Sprintf("No longer in the cluster: %s. Kubetorch deletes a compute that was not called during "+
			"inactivity_ttl, which is %s. %s", strings.Join(names, ", "), r.State.InactivityTTL.ValueString(),
			consequence))
}

// existing returns the prior objects without the expired ones.
func (s privateState) existing(prior owned.Objects) owned.Objects {
	existing := maps.Clone(prior)
	maps.DeleteFunc(existing, func(key string, _ *owned.Object) bool { return slices.Contains(s.Expired, key) })
	return existing
}

// recreatesExpired reports whether an update creates the expired objects again.
func (s privateState) recreatesExpired(plan, state *model) bool {
	return len(s.Expired) > 0 && (!plan.keepsExpired() || !plan.sameObjects(state))
}

// recreateExpired removes the expired objects from the prior ones if the plan creates them again.
func (p *planner) recreateExpired() {
	if p.prior == nil || !p.PrivateState.recreatesExpired(p.Plan, p.State) {
		return
	}
	p.prior = p.PrivateState.existing(p.prior)
	p.Diags.AddAttributeWarning(path.Root("on_expiry"), "The compute is created again",
		"Kubetorch deleted it after inactivity_ttl, and its configuration has changed since then. The plan shows it "+
			"as an update.")
}
