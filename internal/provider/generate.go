package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// generated returns the state in a request without the attributes that a configuration omits. It returns the state as
// it is if the resource type is unknown, which the framework reports.
func (s *server) generated(
	ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest,
) (*tfprotov6.DynamicValue, diag.Diagnostics) {
	of, ok := s.typeOf(req.TypeName)
	if !ok {
		return req.State, nil
	}
	state, err := req.State.Unmarshal(of.wire)
	if err != nil {
		return req.State, nil // the framework reports it
	}
	config, diags := of.WithoutDefaults(ctx, state)
	if diags.HasError() {
		return nil, diags
	}
	value, err := tfprotov6.NewDynamicValue(of.wire, config)
	if err != nil {
		return nil, diag.Diagnostics{diag.NewErrorDiagnostic("Cannot generate the configuration", err.Error())}
	}
	return &value, nil
}

func diagnosticsOf(diags diag.Diagnostics) []*tfprotov6.Diagnostic {
	var out []*tfprotov6.Diagnostic
	for _, d := range diags {
		severity := tfprotov6.DiagnosticSeverityError
		if d.Severity() == diag.SeverityWarning {
			severity = tfprotov6.DiagnosticSeverityWarning
		}
		out = append(out, &tfprotov6.Diagnostic{Severity: severity, Summary: d.Summary(), Detail: d.Detail()})
	}
	return out
}
