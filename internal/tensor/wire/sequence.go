package wire

import (
	"strconv"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
)

// Positive returns a limit, or its default if it is zero or negative.
func Positive[N int | int64 | time.Duration](limit, otherwise N) N {
	if limit > 0 {
		return limit
	}
	return otherwise
}

// Piece contains the properties of a chunk that a sequence checks.
type Piece struct {
	Number uint32
	Total  uint32 // 0 if the sender omits it
	Last   bool   // KPU only
	Bytes  int
}

// Sequence checks the chunks of one tensor: numbers from 0 without gaps, and
// exactly the announced amount of data. Properties that the sender omits are not
// checked. The zero Sequence accepts no data; use NewSequence.
type Sequence struct {
	limit int64
	want  int64 // bytes, -1 while unknown
	total uint32
	next  uint32
	bytes int64
	done  bool
}

// NewSequence returns a sequence that accepts at most limit bytes.
func NewSequence(limit int64) *Sequence { return &Sequence{limit: limit, want: -1} }

// ExpectFile sets the number of bytes that the first chunk of a file of KPU announces, and returns it, or -1.
func (s *Sequence) ExpectFile(first *kputorch.TensorChunk) (int64, error) {
	text := first.GetMetadata()["size_bytes"]
	if text == "" {
		return -1, nil
	}
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 {
		return 0, Errorf(Malformed, "size_bytes is %.40q", text)
	}
	return size, s.Expect(size)
}

// Expect sets the total number of bytes of the chunks.
func (s *Sequence) Expect(bytes int64) error {
	if bytes > s.limit {
		return Errorf(Limit, "a tensor of %d bytes; at most %d are accepted", bytes, s.limit)
	}
	s.want = bytes
	return nil
}

// Done reports whether all chunks were received.
func (s *Sequence) Done() bool { return s.done }

// Add checks the next chunk.
func (s *Sequence) Add(p Piece) error {
	if s.done {
		return Errorf(Duplicate, "received chunk %d after the last one, which was %d", p.Number, s.next-1)
	}
	if err := s.order(p); err != nil {
		return err
	}
	if err := s.size(p); err != nil {
		return err
	}
	s.next++
	s.bytes += int64(p.Bytes)
	switch {
	case s.total > 0:
		s.done = s.next == s.total
	case p.Last:
		s.done = true
	default:
		s.done = s.want >= 0 && s.bytes == s.want
	}
	if s.done && s.want >= 0 && s.bytes < s.want {
		return Errorf(Truncated, "%d chunks contain %d bytes of %d", s.next, s.bytes, s.want)
	}
	return nil
}

func (s *Sequence) order(p Piece) error {
	if p.Number < s.next {
		return Errorf(Duplicate, "received chunk %d again instead of chunk %d", p.Number, s.next)
	}
	if p.Number > s.next {
		return Errorf(Reordered, "received chunk %d instead of chunk %d", p.Number, s.next)
	}
	if s.next > 0 && p.Total != 0 && p.Total != s.total {
		return Errorf(Mismatch, "chunk %d announces %d chunks, but the first one announced %d", p.Number, p.Total,
			s.total)
	}
	if s.next == 0 {
		s.total = p.Total
	}
	if s.total > 0 && p.Last && p.Number+1 != s.total {
		return Errorf(Truncated, "chunk %d of %d is marked as the last", p.Number, s.total)
	}
	return nil
}

func (s *Sequence) size(p Piece) error {
	bytes := s.bytes + int64(p.Bytes)
	switch {
	case s.want >= 0 && bytes > s.want:
		return Errorf(Oversized, "%d bytes up to chunk %d; %d were announced", bytes, p.Number, s.want)
	case bytes > s.limit:
		return Errorf(Limit, "%d bytes up to chunk %d; at most %d are accepted", bytes, p.Number, s.limit)
	case s.want >= 0 && s.next == 0 && int64(s.total) > max(s.want, 1):
		return Errorf(Mismatch, "%d chunks for %d bytes", s.total, s.want)
	case p.Bytes == 0 && !p.Last && s.want != 0 && s.total != 1: // otherwise, a peer could keep a stream busy forever
		return Errorf(Malformed, "chunk %d has no data", p.Number)
	}
	return nil
}

// End checks that the stream may end here.
func (s *Sequence) End() error {
	switch {
	case s.done:
		return nil
	case s.next == 0:
		return Errorf(Truncated, "the stream ended before the first chunk")
	case s.total > 0:
		return Errorf(Truncated, "the stream ended after chunk %d of %d", s.next, s.total)
	case s.want >= 0:
		return Errorf(Truncated, "the stream ended after %d bytes of %d", s.bytes, s.want)
	default: // nothing was announced, so nothing is missing
		s.done = true
		return nil
	}
}
