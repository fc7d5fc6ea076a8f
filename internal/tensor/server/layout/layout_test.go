package layout

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		layout             Layout
		elements, by, span int64
		contiguous         bool
	}{
		"scalar":     {Of(Float32), 1, 4, 4, true},
		"matrix":     {Of("torch.float64", 2, 3), 6, 48, 48, true},
		"empty":      {Of("torch.int8", 2, 0, 3), 0, 0, 0, true},
		"transposed": {Layout{DType: "torch.int16", Shape: []int64{2, 3}, Stride: []int64{1, 2}}, 6, 12, 12, false},
		"column": {Layout{DType: "torch.int8", Shape: []int64{4}, Stride: []int64{3}, Offset: 2},
			4, 4, 12, false},
		"broadcast": {Layout{DType: "torch.int8", Shape: []int64{5}, Stride: []int64{0}}, 5, 5, 1, false},
		"one of many": {Layout{DType: "torch.int8", Shape: []int64{1, 3}, Stride: []int64{99, 1}, Offset: 1},
			3, 3, 4, true},
		"huge but one": {Of("torch.bool", math.MaxInt64, 0), 0, 0, 0, true},
	} {
		if err := c.layout.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		elements, _ := c.layout.Elements()
		by, _ := c.layout.Bytes()
		span, _ := c.layout.Span()
		if elements != c.elements || by != c.by || span != c.span || c.layout.Contiguous() != c.contiguous {
			t.Errorf("%s: %d elements, %d bytes, span %d, contiguous %v", name, elements, by, span,
				c.layout.Contiguous())
		}
	}
}

func TestInvalidLayoutsAreRejected(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]Layout{
		"no type":             {Shape: []int64{1}},
		"unknown type":        {DType: "torch.float31"},
		"negative":            Of("torch.int8", -1),
		"short stride":        {DType: "torch.int8", Shape: []int64{2, 3}, Stride: []int64{1}},
		"negative stride":     {DType: "torch.int8", Shape: []int64{2}, Stride: []int64{-1}},
		"negative offset":     {DType: "torch.int8", Shape: []int64{2}, Offset: -1},
		"65 dimensions":       Of("torch.int8", make([]int64, 65)...),
		"too many elements":   Of("torch.int8", 1<<32, 1<<31),
		"too many bytes":      Of("torch.complex128", 1<<60),
		"too large a stride":  {DType: "torch.int8", Shape: []int64{3}, Stride: []int64{math.MaxInt64}},
		"too large an offset": {DType: "torch.int8", Shape: []int64{1}, Stride: []int64{1}, Offset: math.MaxInt64},
	} {
		if err := l.Validate(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := Of("torch.int8", 1<<62, 4).Elements(); !errors.Is(err, ErrOverflow) {
		t.Errorf("overflow: %v", err)
	}
}

func TestTypesHaveSizesAndNames(t *testing.T) {
	t.Parallel()
	for _, d := range DTypes() {
		if got, err := ParseDType(string(d)[len("torch."):]); err != nil || got != d || d.Size() == 0 {
			t.Errorf("%s: %s of %d bytes, %v", d, got, d.Size(), err)
		}
	}
}

// gather is Runs, element by element.
func gather(l Layout) []int64 {
	out := []int64{l.Offset}
	for i, n := range l.Shape {
		var next []int64
		for _, at := range out {
			for j := range n {
				next = append(next, at+j*l.Strides()[i])
			}
		}
		out = next
	}
	return out
}

func FuzzRuns(f *testing.F) {
	f.Add(uint8(2), uint8(3), uint8(4), uint8(12), uint8(4), uint8(1), uint8(0))
	f.Add(uint8(2), uint8(3), uint8(4), uint8(1), uint8(2), uint8(6), uint8(5))
	f.Fuzz(func(t *testing.T, a, b, c, sa, sb, sc, off uint8) {
		l := Layout{
			DType: "torch.int16", Shape: []int64{int64(a % 5), int64(b % 5), int64(c % 5)},
			Stride: []int64{int64(sa), int64(sb), int64(sc)}, Offset: int64(off),
		}
		var got []int64
		err := l.Runs(func(off, n int64) error {
			for at := off; at < off+n; at += 2 {
				got = append(got, at/2)
			}
			return nil
		})
		if err != nil || !slices.Equal(got, gather(l)) {
			t.Errorf("%+v: %v, want %v: %v", l, got, gather(l), err)
		}
		span, err := l.Span()
		if err != nil || len(got) > 0 && span != 2*slices.Max(got)+2 {
			t.Errorf("%+v: span %d of %v: %v", l, span, got, err)
		}
	})
}
