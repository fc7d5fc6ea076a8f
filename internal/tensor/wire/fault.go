// Package wire implements the messages between a tensor client and server: the
// chunks of both protocols, a codec that does not copy their data, and the rules
// for a sequence of chunks (ADR 0020).
package wire

import "fmt"

// Fault is the kind of problem of a chunk or of a sequence of chunks.
type Fault string

const (
	// Malformed: not a valid message of the protocol.
	Malformed Fault = "malformed"
	// Reordered: a chunk was received before an earlier one.
	Reordered Fault = "reordered"
	// Duplicate: a chunk was received twice, or after the last one.
	Duplicate Fault = "duplicate"
	// Truncated: the stream ended, or reported its end, before all data was received.
	Truncated Fault = "truncated"
	// Oversized: more data than the sender announced.
	Oversized Fault = "oversized"
	// Mismatch: the description of the tensor contradicts itself or the request.
	Mismatch Fault = "mismatch"
	// Limit: a limit of the receiver is exceeded.
	Limit Fault = "over the limit"
)

// Error describes a violation of the protocol.
type Error struct {
	Fault  Fault
	Detail string
}

func (e *Error) Error() string { return string(e.Fault) + ": " + e.Detail }

// Errorf returns an *Error.
func Errorf(f Fault, format string, args ...any) error {
	return &Error{Fault: f, Detail: fmt.Sprintf(format, args...)}
}
