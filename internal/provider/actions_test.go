package provider

import (
	"context"
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// waitingAction is a server whose action runs until its context ends.
type waitingAction struct {
	frameworkServer

	started chan struct{}
}

func (w waitingAction) InvokeAction(
	ctx context.Context, req *tfprotov6.InvokeActionRequest,
) (*tfprotov6.InvokeActionServerStream, error) {
	if req.ActionType == "" {
		return nil, errors.New("no action")
	}
	return &tfprotov6.InvokeActionServerStream{Events: func(push func(tfprotov6.InvokeActionEvent) bool) {
		close(w.started)
		<-ctx.Done()
		push(tfprotov6.InvokeActionEvent{Type: tfprotov6.CompletedInvokeActionEventType{}})
	}}, nil
}

func (w waitingAction) StopProvider(
	context.Context, *tfprotov6.StopProviderRequest,
) (*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

func TestInterruptedActionSendsItsResultBeforeTheProviderStops(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	s := &server{frameworkServer: waitingAction{started: started}, kt: &kt{}}
	stream, err := s.InvokeAction(t.Context(), &tfprotov6.InvokeActionRequest{ActionType: "kt_restart"})
	if err != nil {
		t.Fatal(err)
	}
	completed := make(chan struct{})
	go stream.Events(func(tfprotov6.InvokeActionEvent) bool {
		close(completed)
		return true
	})
	<-started
	if _, err := s.StopProvider(t.Context(), &tfprotov6.StopProviderRequest{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-completed:
	default:
		t.Error("the provider stops before the result of the action was sent")
	}
	if _, err := s.InvokeAction(t.Context(), &tfprotov6.InvokeActionRequest{}); err == nil {
		t.Error("the error of the framework is lost")
	}
	for range s.actions.Range {
		t.Error("an action is still running")
	}
}
