package provider

import (
	"context"
	"reflect"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

// The messages of the responses contain no control characters, and no commands for a CI system that prints them. They
// can quote text of servers, registries, events and logs. This covers all requests that contact a server: those here,
// and those that the server handles itself, by [printed].

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

// ApplyResourceChange applies a planned resource.
func (s *server) ApplyResourceChange(
	ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	return printed(s.frameworkServer.ApplyResourceChange(ctx, req))
}

// ImportResourceState imports a resource.
func (s *server) ImportResourceState(
	ctx context.Context, req *tfprotov6.ImportResourceStateRequest,
) (*tfprotov6.ImportResourceStateResponse, error) {
	return printed(s.frameworkServer.ImportResourceState(ctx, req))
}

// MoveResourceState takes over the state of another resource.
func (s *server) MoveResourceState(
	ctx context.Context, req *tfprotov6.MoveResourceStateRequest,
) (*tfprotov6.MoveResourceStateResponse, error) {
	return printed(s.frameworkServer.MoveResourceState(ctx, req))
}

// ReadDataSource reads a data source.
func (s *server) ReadDataSource(
	ctx context.Context, req *tfprotov6.ReadDataSourceRequest,
) (*tfprotov6.ReadDataSourceResponse, error) {
	return printed(s.frameworkServer.ReadDataSource(ctx, req))
}

// OpenEphemeralResource opens an ephemeral resource.
func (s *server) OpenEphemeralResource(
	ctx context.Context, req *tfprotov6.OpenEphemeralResourceRequest,
) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	return printed(s.frameworkServer.OpenEphemeralResource(ctx, req))
}

// CloseEphemeralResource closes an ephemeral resource.
func (s *server) CloseEphemeralResource(
	ctx context.Context, req *tfprotov6.CloseEphemeralResourceRequest,
) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	return printed(s.frameworkServer.CloseEphemeralResource(ctx, req))
}

// ListResource lists objects.
func (s *server) ListResource(
	ctx context.Context, req *tfprotov6.ListResourceRequest,
) (*tfprotov6.ListResourceServerStream, error) {
	stream, err := s.frameworkServer.ListResource(ctx, req)
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
