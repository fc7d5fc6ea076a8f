package provider

import (
	"context"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// hostile is a server whose messages quote foreign text.
type hostile struct{ frameworkServer }

const foreign, harmless = "\x1b[2J::error::x\nl", ": :error::x\nl"

func quoting() []*tfprotov6.Diagnostic {
	return []*tfprotov6.Diagnostic{{Summary: foreign, Detail: foreign}}
}

func (hostile) ReadResource(
	context.Context, *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{Diagnostics: quoting()}, nil
}

func (hostile) ApplyResourceChange(
	context.Context, *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	return &tfprotov6.ApplyResourceChangeResponse{Diagnostics: quoting()}, nil
}

func (hostile) ListResource(
	context.Context, *tfprotov6.ListResourceRequest,
) (*tfprotov6.ListResourceServerStream, error) {
	return &tfprotov6.ListResourceServerStream{Results: slices.Values([]tfprotov6.ListResourceResult{
		{DisplayName: foreign, Diagnostics: quoting()}})}, nil
}

func (hostile) InvokeAction(
	context.Context, *tfprotov6.InvokeActionRequest,
) (*tfprotov6.InvokeActionServerStream, error) {
	return &tfprotov6.InvokeActionServerStream{Events: slices.Values([]tfprotov6.InvokeActionEvent{
		{Type: tfprotov6.ProgressInvokeActionEventType{Message: foreign}},
		{Type: tfprotov6.CompletedInvokeActionEventType{Diagnostics: quoting()}},
	})}, nil
}

func TestForeignTextInMessagesIsPrintable(t *testing.T) {
	t.Parallel()
	server := &server{frameworkServer: hostile{}, kt: &kt{}}
	check := func(what string, texts ...string) {
		for _, text := range texts {
			if text != harmless {
				t.Errorf("%s: %q, want %q", what, text, harmless)
			}
		}
	}
	checkAll := func(what string, all []*tfprotov6.Diagnostic) {
		if len(all) != 1 {
			t.Errorf("%s: %d diagnostics", what, len(all))
		}
		for _, one := range all {
			check(what, one.Summary, one.Detail)
		}
	}
	read, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{})
	if err != nil {
		t.Fatal(err)
	}
	checkAll("read", read.Diagnostics)
	applied, err := server.ApplyResourceChange(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	checkAll("apply", applied.Diagnostics)
	listed, err := server.ListResource(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for result := range listed.Results {
		check("list", result.DisplayName)
		checkAll("list", result.Diagnostics)
	}
	invoked, err := server.InvokeAction(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	events := 0
	for event := range invoked.Events {
		events++
		switch message := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			check("progress", message.Message)
		case tfprotov6.CompletedInvokeActionEventType:
			checkAll("result", message.Diagnostics)
		}
	}
	if events != 2 {
		t.Errorf("%d events, want 2", events)
	}
}
