package compute

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// keepsReplicas says whether the configuration asks for the number that somebody
// else scaled the workload to: that is how Terraform shows what
// lifecycle.ignore_changes names.
func (p *planner) keepsReplicas() bool {
	return !p.creating && isGiven(p.config.Replicas) && p.config.Replicas.Equal(p.state.Replicas) &&
		p.notes.Designed > 0 && p.notes.Designed != p.state.Replicas.ValueInt64()
}

// kept warns where the template of pods changes, and those that run stay as they
// are: the apply would seem to have changed them.
func (p *planner) kept(prior objects) {
	if p.creating || p.replaces() || p.moves() || p.plan.Suspend.ValueBool() || hasSuspension(prior) {
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
	p.diags.AddAttributeWarning(path.Root("manifests"), "The pods that run stay as they are",
		fmt.Sprintf("The template of the pods changes, but whoever runs a %s makes only new pods from it. To make all of them anew, replace the compute with\n  terraform apply -replace=ADDRESS\nor apply it with suspend = true and again without.", will.GetKind()))
}
