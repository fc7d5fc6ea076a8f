package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// generator is a resource that knows which attributes of its state a configuration omits; see
// [lifecycle.Resource.WithoutDefaults].
type generator interface {
	WithoutDefaults(context.Context, tftypes.Value) (tftypes.Value, diag.Diagnostics)
}

// generated returns the state in a request without the attributes that a configuration omits. It returns the state as
// it is if the resource type is unknown, which the framework reports.
func generated(
	ctx context.Context, resources []func() resource.Resource, req *tfprotov6.GenerateResourceConfigRequest,
) (*tfprotov6.DynamicValue, diag.Diagnostics) {
	for _, newResource := range resources {
		one := newResource()
		var name resource.MetadataResponse
		one.Metadata(ctx, resource.MetadataRequest{}, &name)
		with, ok := one.(generator)
		if !ok || name.TypeName != req.TypeName {
			continue
		}
		var found resource.SchemaResponse
		one.Schema(ctx, resource.SchemaRequest{}, &found)
		wire := found.Schema.Type().TerraformType(ctx)
		state, err := req.State.Unmarshal(wire)
		if err != nil {
			return req.State, nil // the framework reports it
		}
		config, diags := with.WithoutDefaults(ctx, state)
		if diags.HasError() {
			return nil, diags
		}
		value, err := tfprotov6.NewDynamicValue(wire, config)
		if err != nil {
			return nil, diag.Diagnostics{diag.NewErrorDiagnostic("Cannot generate the configuration", err.Error())}
		}
		return &value, nil
	}
	return req.State, nil
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
