package podstream

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

const (
	// maxRaw is the maximum number of bytes of a line that are kept.
	maxRaw = 16 << 10
	// maxLine is the maximum number of characters of a line that are passed on.
	maxLine = 2000
	// edge is the number of characters at the end of a truncated line that may be the start of a value to mask. It is
	// more than the length of the parts that a [kube.Masker] recognizes.
	edge = 8
)

// Mask removes secret values from a text.
type Mask = observe.Mask

// hiding returns a mask that also hides the credential of the provider.
func hiding(c *kube.Cluster, mask Mask) Mask {
	return func(text string) string { return c.API.Hide(mask(text)) }
}

// clean converts a line of output to printable text of limited length, without secret values. omitted is the number of
// bytes that are missing at its end.
func clean(raw []byte, omitted int, mask Mask) string {
	// Control sequences in a value would hide it from the mask, and so would its conversion to printable text.
	text := []rune(mask(printable.Line(mask(string(raw)))))
	if omitted > 0 {
		text = text[:max(0, len(text)-edge)]
	}
	more := omitted > 0 || len(text) > maxLine
	text = text[:min(len(text), maxLine)]
	if more {
		return fmt.Sprintf("%s… (line of %d bytes)", string(text), len(raw)+omitted)
	}
	return string(text)
}

// splitter is an io.Writer that passes the lines of its input to emit. Like a terminal, it drops what a carriage return
// overwrites, such as the previous state of a progress bar. It keeps at most maxRaw bytes.
type splitter struct {
	emit    func(raw []byte, omitted int)
	line    []byte
	omitted int
	restart bool // the previous byte was a carriage return
	stamped bool // lines start with a timestamp and a space, which carriage returns do not overwrite
}

// Write never fails.
func (s *splitter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		end := bytes.IndexAny(rest, "\r\n")
		if end < 0 {
			s.add(rest)
			break
		}
		s.add(rest[:end])
		if rest[end] == '\n' {
			s.flush()
		} else {
			s.restart = true
		}
		rest = rest[end+1:]
	}
	return len(p), nil
}

func (s *splitter) add(text []byte) {
	if len(text) == 0 {
		return
	}
	if s.restart {
		start := 0
		if s.stamped {
			start = bytes.IndexByte(s.line, ' ') + 1
		}
		s.line, s.omitted, s.restart = s.line[:start], 0, false
	}
	kept := min(len(text), maxRaw-len(s.line))
	s.line = append(s.line, text[:kept]...)
	s.omitted += len(text) - kept
}

// flush passes the current line to emit.
func (s *splitter) flush() {
	s.emit(s.line, s.omitted)
	s.line, s.omitted, s.restart = s.line[:0], 0, false
}

// close passes an incomplete last line to emit.
func (s *splitter) close() {
	if len(s.line) > 0 {
		s.flush()
	}
}

// output merges the lines of several streams. It passes on nothing after close, although a connection may still write.
type output struct {
	mask Mask
	emit func(line string)

	mu      sync.Mutex
	closed  bool
	streams []*stream
}

// stream returns a writer for one stream.
func (o *output) stream() *stream {
	s := &stream{output: o}
	s.emit = func(raw []byte, omitted int) { o.emit(clean(raw, omitted, o.mask)) }
	o.streams = append(o.streams, s)
	return s
}

// close passes on incomplete last lines.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.streams {
		s.close()
	}
	o.closed = true
}

// stream is one stream of an [output].
type stream struct {
	splitter
	output *output
}

func (s *stream) Write(p []byte) (int, error) {
	s.output.mu.Lock()
	defer s.output.mu.Unlock()
	if s.output.closed {
		return len(p), nil
	}
	return s.splitter.Write(p)
}
