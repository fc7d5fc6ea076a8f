package provider

import (
	"context"
	"reflect"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

// printableServer is a server whose messages contain no control characters, and no commands for a CI system that prints
// them. They can quote text of servers, registries, events and logs. It covers all requests that contact a server.
type printableServer struct{ frameworkServer }

// diagnostics makes diagnostics printable in place.
func diagnostics(all []*tfprotov6.Diagnostic) {
	for _, one := range all {
		one.Summary, one.Detail = printable.Lines(one.Summary), printable.Lines(one.Detail)
	}
}

// printed makes the diagnostics of a response printable in place. Each response of the protocol has them in a field of
// the same name.
func printed[Response any](resp *Response, err error) (*Response, error) {
	if resp != nil {
		all, _ := reflect.TypeAssert[[]*tfprotov6.Diagnostic](reflect.ValueOf(resp).Elem().FieldByName("Diagnostics"))
		diagnostics(all)
	}
	return resp, err
}

// ConfigureProvider configures the provider.
func (p printableServer) ConfigureProvider(
	ctx context.Context, req *tfprotov6.ConfigureProviderRequest,
) (*tfprotov6.ConfigureProviderResponse, error) {
	return printed(p.frameworkServer.ConfigureProvider(ctx, req))
}

// UpgradeResourceState reads the state of a resource.
func (p printableServer) UpgradeResourceState(
	ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return printed(p.frameworkServer.UpgradeResourceState(ctx, req))
}

// ReadResource refreshes a resource.
func (p printableServer) ReadResource(
	ctx context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	return printed(p.frameworkServer.ReadResource(ctx, req))
}

// PlanResourceChange plans a resource.
func (p printableServer) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	return printed(p.frameworkServer.PlanResourceChange(ctx, req))
}

// ApplyResourceChange applies a planned resource.
func (p printableServer) ApplyResourceChange(
	ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	return printed(p.frameworkServer.ApplyResourceChange(ctx, req))
}

// ImportResourceState imports a resource.
func (p printableServer) ImportResourceState(
	ctx context.Context, req *tfprotov6.ImportResourceStateRequest,
) (*tfprotov6.ImportResourceStateResponse, error) {
	return printed(p.frameworkServer.ImportResourceState(ctx, req))
}

// MoveResourceState takes over the state of another resource.
func (p printableServer) MoveResourceState(
	ctx context.Context, req *tfprotov6.MoveResourceStateRequest,
) (*tfprotov6.MoveResourceStateResponse, error) {
	return printed(p.frameworkServer.MoveResourceState(ctx, req))
}

// GenerateResourceConfig returns a configuration.
func (p printableServer) GenerateResourceConfig(
	ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest,
) (*tfprotov6.GenerateResourceConfigResponse, error) {
	return printed(p.frameworkServer.GenerateResourceConfig(ctx, req))
}

// ReadDataSource reads a data source.
func (p printableServer) ReadDataSource(
	ctx context.Context, req *tfprotov6.ReadDataSourceRequest,
) (*tfprotov6.ReadDataSourceResponse, error) {
	return printed(p.frameworkServer.ReadDataSource(ctx, req))
}

// OpenEphemeralResource opens an ephemeral resource.
func (p printableServer) OpenEphemeralResource(
	ctx context.Context, req *tfprotov6.OpenEphemeralResourceRequest,
) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	return printed(p.frameworkServer.OpenEphemeralResource(ctx, req))
}

// RenewEphemeralResource renews an ephemeral resource.
func (p printableServer) RenewEphemeralResource(
	ctx context.Context, req *tfprotov6.RenewEphemeralResourceRequest,
) (*tfprotov6.RenewEphemeralResourceResponse, error) {
	return printed(p.frameworkServer.RenewEphemeralResource(ctx, req))
}

// CloseEphemeralResource closes an ephemeral resource.
func (p printableServer) CloseEphemeralResource(
	ctx context.Context, req *tfprotov6.CloseEphemeralResourceRequest,
) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	return printed(p.frameworkServer.CloseEphemeralResource(ctx, req))
}

// ListResource lists objects.
func (p printableServer) ListResource(
	ctx context.Context, req *tfprotov6.ListResourceRequest,
) (*tfprotov6.ListResourceServerStream, error) {
	stream, err := p.frameworkServer.ListResource(ctx, req)
	if stream == nil || stream.Results == nil {
		return stream, err
	}
	return &tfprotov6.ListResourceServerStream{Results: func(yield func(tfprotov6.ListResourceResult) bool) {
		for result := range stream.Results {
			result.DisplayName = printable.Lines(result.DisplayName)
			diagnostics(result.Diagnostics)
			if !yield(result) {
				return
			}
		}
	}}, err
}

// PlanAction plans an action.
func (p printableServer) PlanAction(
	ctx context.Context, req *tfprotov6.PlanActionRequest,
) (*tfprotov6.PlanActionResponse, error) {
	return printed(p.frameworkServer.PlanAction(ctx, req))
}

// InvokeAction runs an action.
func (p printableServer) InvokeAction(
	ctx context.Context, req *tfprotov6.InvokeActionRequest,
) (*tfprotov6.InvokeActionServerStream, error) {
	stream, err := p.frameworkServer.InvokeAction(ctx, req)
	if stream == nil || stream.Events == nil {
		return stream, err
	}
	return &tfprotov6.InvokeActionServerStream{Events: func(yield func(tfprotov6.InvokeActionEvent) bool) {
		for event := range stream.Events {
			switch message := event.Type.(type) {
			case tfprotov6.ProgressInvokeActionEventType:
				message.Message = printable.Lines(message.Message)
				event.Type = message
			case tfprotov6.CompletedInvokeActionEventType:
				diagnostics(message.Diagnostics)
			}
			if !yield(event) {
				return
			}
		}
	}}, err
}
