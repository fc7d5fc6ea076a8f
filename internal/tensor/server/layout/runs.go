package layout

// Runs calls f for each contiguous run of bytes of a valid layout, in the order of
// the elements, with the offset in the storage and the length. A contiguous layout
// is one run. Runs stops at the first error and returns it.
func (l Layout) Runs(f func(offset, length int64) error) error {
	elements, err := l.Elements()
	if err != nil || elements == 0 {
		return err
	}
	size := l.DType.Size()
	if l.Contiguous() {
		return f(l.Offset*size, elements*size)
	}
	strides := l.Strides()
	// Contiguous innermost dimensions are one run.
	inner, run := len(l.Shape), int64(1)
	for inner > 0 && (strides[inner-1] == run || l.Shape[inner-1] == 1) {
		inner--
		run *= l.Shape[inner]
	}
	index := make([]int64, inner)
	at := l.Offset
	for {
		if err := f(at*size, run*size); err != nil {
			return err
		}
		d := inner - 1
		for ; d >= 0; d-- {
			index[d]++
			at += strides[d]
			if index[d] < l.Shape[d] {
				break
			}
			at -= index[d] * strides[d]
			index[d] = 0
		}
		if d < 0 {
			return nil
		}
	}
}
