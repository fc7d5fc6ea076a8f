package compute

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// The pods of selector exist already, and the Service that endpoint.url leads to
// does as well: then a compute is nothing but its registration with Kubetorch,
// and nothing at all where the CRD is not installed.
const (
	nothingSummary = "The compute has no objects"
	nothingDetail  = "With selector and endpoint.url, a compute consists only of a %s, and its CRD is not installed " +
		"in this cluster. "
	nothingNext = "Next step: Install Kubetorch's CRDs first, or remove endpoint.url so that a Service is created."
)

// refuseNothing refuses a plan without objects. A new compute may be planned: the
// same run may install the CRD, and the apply looks again.
func (p *planner) refuseNothing() {
	if len(p.rendered) > 0 {
		return
	}
	detail := fmt.Sprintf(nothingDetail, manifest.RegistrationKind().Kind)
	if p.Creating {
		p.Diags.AddAttributeWarning(path.Root("endpoint").AtName("url"), nothingSummary,
			detail+"The apply fails unless the same run installs it before.\n\n"+nothingNext)
		return
	}
	p.Diags.AddAttributeError(path.Root("endpoint").AtName("url"), nothingSummary, detail+"\n\n"+nothingNext)
}

// nothingApplied is the error of a creation that had nothing to apply.
func nothingApplied() diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("endpoint").AtName("url"), nothingSummary,
		fmt.Sprintf(nothingDetail, manifest.RegistrationKind().Kind)+"Nothing was created.\n\n"+nothingNext)
}
