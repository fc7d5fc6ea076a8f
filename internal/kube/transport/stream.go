package transport

import (
	"bytes"
	"context"
	"io"

	"k8s.io/utils/clock"
)

// streamBody ends the context of a stream when it is closed. A stream that
// should begin with a list, and does not, ends with an error, after which
// client-go lists. A stream that the server ends may be the only sign of its
// restart. A watch ends with an error at a message without an end: its messages
// are lines, which client-go reads whole.
type streamBody struct {
	io.ReadCloser

	stop   context.CancelCauseFunc
	ended  func()
	limit  int         // maximum size of a message in bytes; 0: none, as for a log
	line   int         // size of the current message in bytes
	silent clock.Timer // nil without an expected first message
}

func (b *streamBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.silent != nil && n > 0 {
		b.silent.Stop()
	}
	if err != nil {
		b.ended()
	}
	b.line += n
	if end := bytes.LastIndexByte(p[:n], '\n'); end >= 0 {
		b.line = n - end - 1
	}
	if b.limit > 0 && b.line > b.limit {
		return 0, &tooLargeError{b.limit}
	}
	return n, err
}

func (b *streamBody) Close() error {
	if b.silent != nil {
		b.silent.Stop()
	}
	defer b.stop(nil)
	return b.ReadCloser.Close()
}
