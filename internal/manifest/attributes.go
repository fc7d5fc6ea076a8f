package manifest

import (
	"fmt"
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Setting is an attribute that the configuration sets to another value than zero.
type Setting struct {
	Attribute string
	Runners   kind.Runners // that support the attribute
}

// runner returns what runs the pods of a compute that has a workload.
func (c Compute) runner() kind.Runners {
	switch k, ok := kind.OfRuntime(c.Runtime); {
	case !ok:
		return kind.Kubetorch
	case c.NoOverride:
		return kind.SkyTorch010
	default:
		return k.Server.Runner
	}
}

// refuseUnsupported reports the attributes that a runner does not support.
func (c Compute) refuseUnsupported(runner kind.Runners, errs *Errors, concerns ...Path) {
	for _, s := range c.Settings {
		if s.Runners&runner == 0 {
			errs.report(At(s.Attribute), conflict, "%s %s", s.Attribute, c.unsupported(runner, s.Runners)).
				Concerning(concerns...)
		}
	}
}

// unsupported returns why a runner does not support an attribute, a sentence without its subject.
func (c Compute) unsupported(runner, supporting kind.Runners) string {
	switch {
	case runner == kind.Existing:
		return "configures a workload, but with selector alone the pods already exist and no workload is created: " +
			"remove it, or specify the workload in manifest."
	case runner == kind.Unchanged:
		return "cannot be set together with manifest_only, with which nothing is added to manifest: set it in " +
			"manifest, or remove one of the two."
	case runner == kind.Kubetorch:
		return fmt.Sprintf("applies only to a tensor server: remove it, or set runtime = %q or %q.",
			kind.RuntimeSkyTorch, kind.RuntimeKPU)
	case runner == kind.KPU && supporting&kind.SkyTorch != 0:
		// pkg/apis/kpu/v1alpha1/compute_types.go of github.com/astefanutti/skytorch at commit 160d108
		return fmt.Sprintf("has no field in the Compute of KPU, which has no resources, no override and no "+
			"volumeClaimTemplates: remove it, or set runtime = %q.", kind.RuntimeSkyTorch)
	case runner == kind.SkyTorch010 && supporting&kind.SkyTorch != 0:
		return fmt.Sprintf("has no field in the installed Compute (CRD computes.%s, %s), which has neither override "+
			"nor volumeClaimTemplates, like that of SkyTorch 0.1.0. Remove it, or install a newer operator.",
			kind.SkyTorchGroup, kind.SkyTorchCompute().Version)
	default:
		return fmt.Sprintf("has no field in the Compute resource of runtime %q: remove it.", c.Runtime)
	}
}

// setOf returns those of some attributes that are among the settings.
func (c Compute) setOf(attributes ...string) []string {
	return slices.DeleteFunc(attributes, func(attribute string) bool { return !c.isSet(attribute) })
}

// isSet reports whether an attribute is among the settings.
func (c Compute) isSet(attribute string) bool {
	return slices.ContainsFunc(c.Settings, func(s Setting) bool { return s.Attribute == attribute })
}
