package compute

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// outsideOfPods are the attributes that change no pod template.
func outsideOfPods() []string {
	return []string{"adopt_existing", "deletion_protection", "endpoint", "expose", "on_expiry", "on_not_ready",
		"pod_disruption_budget", "sensitive_fields", "service", "suspend", "timeouts", "wait_for_completion"}
}

// replaceIfTemplateUnknown plans a replacement if an unknown value may change a pod template that is immutable, as
// Terraform does for an unknown value of any attribute that forces a replacement. Otherwise, the update would become a
// replacement during the apply, which Terraform rejects as an inconsistent plan.
func (p *planner) replaceIfTemplateUnknown() {
	if p.Creating || p.ConfigKnown() {
		return
	}
	prior, err := p.State.objects()
	workload := workloadIn(prior)
	if err != nil || workload == nil || !manifest.HasImmutablePods(workload) {
		return
	}
	var config map[string]tftypes.Value
	if p.Request.Config.Raw.As(&config) != nil {
		return
	}
	for name, value := range config {
		if !value.IsFullyKnown() && !slices.Contains(outsideOfPods(), name) {
			p.replaceObjects()
		}
	}
}
