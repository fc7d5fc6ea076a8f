package tensor

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/printable"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// Class is the class of a failed call.
type Class int

const (
	// Refused: the server rejected the call; the error contains its message.
	Refused Class = iota
	// Unreachable: the connection to the server could not be opened, or was lost.
	Unreachable
	// TimedOut: the deadline of the caller was exceeded.
	TimedOut
	// Canceled: the caller cancelled the call.
	Canceled
	// Stalled: the server was connected, but made no progress during the stall timeout.
	Stalled
	// NotFound: the server has no such tensor.
	NotFound
	// Unsupported: the server does not implement the protocol or the call.
	Unsupported
	// Violation: the response violates the protocol; the error wraps a *wire.Error.
	Violation
	// TooLarge: a limit of the client or the server was exceeded.
	TooLarge
	// Local: the given tensor is invalid, or its reader or writer failed.
	Local
)

// Error describes a failed call.
type Error struct {
	Op     string // "upload", "download", "echo", …
	Tensor string // ID of the tensor, or "" if the call concerns none
	Target string // host:port
	Class  Class
	Err    error
}

func (e *Error) Error() string {
	what := e.Op
	if e.Tensor != "" {
		what += " tensor " + e.Tensor
	}
	return fmt.Sprintf("%s, server %s: %v", what, e.Target, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of err, or Refused if it is not an *Error.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return Refused
}

// local returns a failure on the client's side, to which [Client.failed] adds the call.
func local(err error) error { return &Error{Class: Local, Err: err} }

func classify(ctx context.Context, err error) (Class, error) {
	if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
		return Stalled, cause
	}
	if fault, ok := errors.AsType[*wire.Error](err); ok {
		if fault.Fault == wire.Limit {
			return TooLarge, err
		}
		return Violation, err
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known.Class, known.Err
	}
	code := status.Code(err)
	// The context determines the class, whatever gRPC reports. Its cause shows whether the client itself cancelled it.
	if ctxErr := ctx.Err(); ctxErr != nil && errors.Is(context.Cause(ctx), ctxErr) {
		code = status.FromContextError(ctxErr).Code()
	}
	text := errors.New(printable.Foreign(status.Convert(err).Message()))
	class, ok := map[codes.Code]Class{
		codes.Unavailable: Unreachable, codes.DeadlineExceeded: TimedOut, codes.Canceled: Canceled,
		codes.NotFound: NotFound, codes.Unimplemented: Unsupported, codes.ResourceExhausted: TooLarge,
	}[code]
	if !ok {
		return Refused, fmt.Errorf("%s: %w", code, text)
	}
	return class, text
}
