package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// PlanResourceChange plans a resource. Terraform plans a replacement twice: first the change, and then the creation, of
// which it shows only the errors
// (https://github.com/hashicorp/terraform/blob/v1.16.2/internal/terraform/node_resource_abstract_instance.go, plan).
// So the plan of the change includes the warnings of the creation.
func (s *server) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp, err := s.planChange(ctx, req)
	if err != nil || len(resp.RequiresReplace) == 0 {
		return resp, err
	}
	null := tfprotov6.DynamicValue{MsgPack: []byte{0xc0}} // of any type
	creation, err := printed(s.frameworkServer.PlanResourceChange(lifecycle.Unrecorded(ctx),
		&tfprotov6.PlanResourceChangeRequest{TypeName: req.TypeName, PriorState: &null, Config: req.Config,
			ProposedNewState: req.Config, PriorPrivate: resp.PlannedPrivate, ProviderMeta: req.ProviderMeta}))
	if err != nil {
		return nil, err
	}
	for _, d := range creation.Diagnostics {
		if d.Severity == tfprotov6.DiagnosticSeverityWarning && !slices.ContainsFunc(resp.Diagnostics,
			func(shown *tfprotov6.Diagnostic) bool { return shown.Summary == d.Summary }) {
			resp.Diagnostics = append(resp.Diagnostics, d)
		}
	}
	return resp, nil
}
