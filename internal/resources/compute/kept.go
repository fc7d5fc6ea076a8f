package compute

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// keepsReplicas reports whether the configuration asks for the number that somebody
// else scaled the workload to: that is how Terraform shows what
// lifecycle.ignore_changes names.
func (p *planner) keepsReplicas() bool {
	return !p.Creating && isGiven(p.Config.Replicas) && p.Config.Replicas.Equal(p.State.Replicas) &&
		p.PrivateState.Designed > 0 && p.PrivateState.Designed != p.State.Replicas.ValueInt64()
}

// warnOfUnchangedPods warns if the pod template changes but running pods are not updated, because the apply would
// seem to have changed them.
func (p *planner) warnOfUnchangedPods(prior objects) {
	if p.Creating || p.replaces() || p.moves() || p.Plan.Suspend.ValueBool() || hasSuspension(prior) {
		return // no pods of the old template will be there
	}
	was, err := prior.workload()
	if err != nil || was == nil {
		return
	}
	will, err := p.rendered.workload()
	if err != nil || will == nil || !manifest.KeepsPods(was, will) {
		return
	}
	p.Diags.AddAttributeWarning(path.Root("manifests"), "Running pods are not updated",
		fmt.Sprintf("The pod template changes, but the controller of a %s uses it only for new pods.\n\nNext step: "+
			"To create all pods again, replace the compute with\n  terraform apply -replace=ADDRESS\n"+
			"or apply it with suspend = true and again without.", will.GetKind()))
}
