package provider

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

// actionStopTime is how long an interruption waits for the results of running actions.
const actionStopTime = 2 * time.Second

// InvokeAction runs an action. After an interruption, terraform-plugin-go sends no events
// (tfprotov6/tf6server/server.go), and so Terraform would not receive the result. StopProvider therefore interrupts
// running actions itself, and waits for their results. Messages are made printable.
func (s *server) InvokeAction(
	ctx context.Context, req *tfprotov6.InvokeActionRequest,
) (*tfprotov6.InvokeActionServerStream, error) {
	ctx, end := s.actions.begin(ctx)
	stream, err := s.frameworkServer.InvokeAction(ctx, req)
	if err != nil {
		end()
		return nil, err
	}
	events := stream.Events
	stream.Events = func(push func(tfprotov6.InvokeActionEvent) bool) {
		defer end()
		for event := range events {
			switch message := event.Type.(type) {
			case tfprotov6.ProgressInvokeActionEventType:
				message.Message = printable.Lines(message.Message)
				event.Type = message
			case tfprotov6.CompletedInvokeActionEventType:
				diagnostics(message.Diagnostics)
			}
			if !push(event) {
				return
			}
		}
	}
	return stream, nil
}

// runningActions contains the actions that are running: the functions that interrupt them, by the channel that is
// closed when the result was sent.
type runningActions struct{ sync.Map }

// begin returns the context of an action, and a function that must be called when its result was sent.
func (r *runningActions) begin(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	r.Store(ended, cancel)
	return ctx, sync.OnceFunc(func() {
		r.Delete(ended)
		cancel()
		close(ended)
	})
}

// interrupt ends all running actions, and returns when their results were sent, or at the latest when ctx ends.
func (r *runningActions) interrupt(ctx context.Context) {
	var running []chan struct{}
	for ended, cancel := range r.Range {
		cancel.(context.CancelFunc)()                    //nolint:forcetypeassert,errcheck // nothing else is stored
		running = append(running, ended.(chan struct{})) //nolint:forcetypeassert,errcheck // nothing else is stored
	}
	for _, ended := range running {
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}
