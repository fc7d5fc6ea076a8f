// Package wire is what travels between a tensor client and server: the chunks
// of both protocols, a codec that does not copy their data, and the rules
// that a sequence of chunks has to keep.
package wire

import "fmt"

// Fault is what is wrong with a chunk or with a sequence of chunks.
type Fault int

const (
	// Malformed: not a message of the protocol.
	Malformed Fault = iota + 1
	// Reordered: a chunk came before the ones that precede it.
	Reordered
	// Duplicate: a chunk came again, or after the last one.
	Duplicate
	// Truncated: the stream ended, or claims to, before all data was there.
	Truncated
	// Oversized: more data than the sender itself announced.
	Oversized
	// Mismatch: what the sender says about the tensor contradicts itself or what was asked for.
	Mismatch
	// Limit: more than the receiver is willing to take.
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

// Error says which rule a peer broke, and how.
type Error struct {
	Fault  Fault
	Detail string
}

func (e *Error) Error() string { return e.Fault.String() + ": " + e.Detail }

// Errorf returns an *Error.
func Errorf(f Fault, format string, args ...any) error {
	return &Error{Fault: f, Detail: fmt.Sprintf(format, args...)}
}
