package tensor

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// Class says what kind of failure a call met.
type Class int

const (
	// Refused: the server said no; the error has its words.
	Refused Class = iota
	// Unreachable: there is no connection to the server, or it broke.
	Unreachable
	// TimedOut: the caller's deadline passed.
	TimedOut
	// Canceled: the caller gave up.
	Canceled
	// Stalled: the server was connected, but did nothing for the stall timeout.
	Stalled
	// NotFound: the server has no such tensor.
	NotFound
	// Unsupported: the server does not speak the protocol, or not that call.
	Unsupported
	// Violation: what the server sent is no answer of the protocol; the error wraps a *wire.Error.
	Violation
	// TooLarge: more than one of the two sides is willing to take.
	TooLarge
	// Local: the tensor given or the reader or writer that it goes through failed.
	Local
)

// Error is a call that failed.
type Error struct {
	Op     string // "upload", "download", "echo", …
	Tensor string // which tensor, "" where it is about none
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

// ClassOf returns the class of err, Refused where it is no *Error.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return Refused
}

// localError is a failure on this side of the connection.
type localError struct{ error }

func (e localError) Unwrap() error { return e.error }

// refusedError is a response without success. Peers send it where gRPC has a status.
type refusedError string

func (e refusedError) Error() string { return fmt.Sprintf("the server refused: %.500s", string(e)) }

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
	if _, ok := errors.AsType[localError](err); ok {
		return Local, err
	}
	if _, ok := errors.AsType[refusedError](err); ok {
		return Refused, err
	}
	code := status.Code(err)
	// Whatever gRPC makes of it when the caller's context ends. Its cause is another where we ended it.
	if ctxErr := ctx.Err(); ctxErr != nil && errors.Is(context.Cause(ctx), ctxErr) {
		code = status.FromContextError(ctxErr).Code()
	}
	text := errors.New(status.Convert(err).Message())
	switch code {
	case codes.Unavailable:
		return Unreachable, text
	case codes.DeadlineExceeded:
		return TimedOut, text
	case codes.Canceled:
		return Canceled, text
	case codes.NotFound:
		return NotFound, text
	case codes.Unimplemented:
		return Unsupported, text
	case codes.ResourceExhausted:
		return TooLarge, text
	default:
		return Refused, fmt.Errorf("%s: %w", code, text)
	}
}
