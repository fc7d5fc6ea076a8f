package wire

import (
	"errors"
	"testing"
)

func TestSequence(t *testing.T) {
	t.Parallel()
	p := func(number, total uint32, bytes int) Piece { return Piece{Number: number, Total: total, Bytes: bytes} }
	last := func(number, total uint32, bytes int) Piece {
		return Piece{Number: number, Total: total, Bytes: bytes, Last: true}
	}
	for name, c := range map[string]struct {
		want   int64 // -1: not announced
		pieces []Piece
		fault  Fault // "": complete
	}{
		"in order":                      {10, []Piece{p(0, 2, 5), p(1, 2, 5)}, ""},
		"total on the first chunk only": {10, []Piece{p(0, 2, 5), p(1, 0, 5)}, ""},
		"no total":                      {10, []Piece{p(0, 0, 5), p(1, 0, 5)}, ""},
		"no total and no size":          {-1, []Piece{p(0, 0, 5), p(1, 0, 5)}, ""},
		"no size":                       {-1, []Piece{p(0, 2, 5), p(1, 2, 5)}, ""},
		"empty":                         {0, []Piece{p(0, 1, 0)}, ""},
		"empty without a total":         {0, []Piece{p(0, 0, 0)}, ""},
		"last":                          {-1, []Piece{p(0, 0, 5), last(1, 0, 5)}, ""},
		"last without data":             {5, []Piece{p(0, 2, 5), last(1, 2, 0)}, ""},
		"nothing":                       {10, nil, Truncated},
		"truncated":                     {10, []Piece{p(0, 2, 5)}, Truncated},
		"truncated without a total":     {10, []Piece{p(0, 0, 5)}, Truncated},
		"too little":                    {10, []Piece{p(0, 2, 5), p(1, 2, 4)}, Truncated},
		"last too early":                {10, []Piece{last(0, 2, 5)}, Truncated},
		"too much":                      {10, []Piece{p(0, 2, 5), p(1, 2, 6)}, Oversized},
		"one twice":                     {10, []Piece{p(0, 2, 5), p(0, 2, 5)}, Duplicate},
		"one after the last":            {10, []Piece{p(0, 2, 5), p(1, 2, 5), p(2, 2, 5)}, Duplicate},
		"one missing":                   {10, []Piece{p(0, 3, 5), p(2, 3, 5)}, Reordered},
		"started in the middle":         {10, []Piece{p(1, 2, 5)}, Reordered},
		"another total":                 {10, []Piece{p(0, 2, 5), p(1, 3, 5)}, Mismatch},
		"a total that comes later":      {10, []Piece{p(0, 0, 5), p(1, 2, 5)}, Mismatch},
		"more chunks than bytes":        {10, []Piece{p(0, 11, 1)}, Mismatch},
		"no data in the middle":         {-1, []Piece{p(0, 0, 0)}, Malformed},
		"more than the limit":           {-1, []Piece{p(0, 2, 60), p(1, 2, 60)}, Limit},
		"more announced than the limit": {101, nil, Limit},
		"the largest chunk number":      {-1, []Piece{p(1<<32-1, 0, 1)}, Reordered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewSequence(100)
			err := error(nil)
			if c.want >= 0 {
				err = s.Expect(c.want)
			}
			for _, piece := range c.pieces {
				if err == nil {
					err = s.Add(piece)
				}
			}
			if err == nil {
				err = s.End()
			}
			got := Fault("")
			if fault, ok := errors.AsType[*Error](err); ok {
				got = fault.Fault
			}
			if got != c.fault || err == nil && !s.Done() {
				t.Errorf("%v, want %q", err, c.fault)
			}
		})
	}
}

func FuzzSequence(f *testing.F) {
	f.Add(int64(10), []byte{0, 2, 5, 1, 2, 5})
	f.Fuzz(func(t *testing.T, want int64, raw []byte) {
		s := NewSequence(1000)
		if s.Expect(want) != nil {
			return
		}
		sum := int64(0)
		for ; len(raw) >= 3; raw = raw[3:] {
			if s.Add(Piece{Number: uint32(raw[0]), Total: uint32(raw[1]), Bytes: int(raw[2]),
				Last: raw[1] > 200}) != nil {
				return
			}
			sum += int64(raw[2])
		}
		if s.bytes != sum || sum > 1000 || want >= 0 && sum > want {
			t.Errorf("%d bytes were accepted, counted %d, announced %d", sum, s.bytes, want)
		}
		if s.End() == nil && want >= 0 && sum != want {
			t.Errorf("complete with %d bytes of %d", sum, want)
		}
	})
}
