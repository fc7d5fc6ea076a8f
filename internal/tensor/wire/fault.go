// Package wire implements the messages between a tensor client and server: the
// chunks of both protocols, a codec that does not copy their data, and the rules
// for a sequence of chunks (ADR 0020).
package wire

import "fmt"

// Fault is the kind of problem of a chunk or of a sequence of chunks.
type Fault int

const (
	// Malformed: not a valid message of the protocol.
	Malformed Fault = iota + 1
	// Reordered: a chunk was received before an earlier one.
	Reordered
	// Duplicate: a chunk was received twice, or after the last one.
	Duplicate
	// Truncated: the stream ended, or reported its end, before all data was received.
	Truncated
	// Oversized: more data than the sender announced.
	Oversized
	// Mismatch: the description of the tensor contradicts itself or the request.
	Mismatch
	// Limit: a limit of the receiver is exceeded.
	Limit
)

func (f Fault) String() string {
	switch f {
	case Malformed:
		return "malformed"
	case Reordered:
		return "reordered"
	case Duplicate:
		return "duplicate"
	case Truncated:
		return "truncated"
	case Oversized:
		return "oversized"
	case Mismatch:
		return "mismatch"
	case Limit:
		return "over the limit"
	default:
		return fmt.Sprintf("fault %d", int(f))
	}
}

// Error describes a violation of the protocol.
type Error struct {
	Fault  Fault
	Detail string
}

func (e *Error) Error() string { return e.Fault.String() + ": " + e.Detail }

// Errorf returns an *Error.
func Errorf(f Fault, format string, args ...any) error {
	return &Error{Fault: f, Detail: fmt.Sprintf(format, args...)}
}
