package kind

// Pair returns for each item of one list the index of the same item in the other, or -1 if there is none. Two items are
// the same if they have the same identity: the value of the first of fields that every item of both lists has, with a
// value of its own. ok is false without such a field.
func Pair(fields []string, list, others []any) (indexes []int, ok bool) {
	for _, field := range fields {
		ours, theirs := indexBy(list, field), indexBy(others, field)
		if ours == nil || theirs == nil {
			continue
		}
		indexes = make([]int, len(list))
		for value, i := range ours {
			indexes[i] = -1
			if j, found := theirs[value]; found {
				indexes[i] = j
			}
		}
		return indexes, true
	}
	return nil, false
}

// indexBy returns the index of each value of a field. It is nil unless every item has the field, with a value of its
// own.
func indexBy(list []any, field string) map[any]int {
	index := make(map[any]int, len(list))
	for i, item := range list {
		value, _ := Find(item, []string{field})
		switch value.(type) {
		case nil, map[string]any, []any:
			return nil
		}
		if value == "" {
			return nil
		}
		index[Number(value)] = i
	}
	if len(index) == 0 || len(index) < len(list) {
		return nil
	}
	return index
}

// Each returns the result of a function for each item, or nil without items.
func Each[T, R any](items []T, of func(T) R) []R {
	var out []R
	for _, item := range items {
		out = append(out, of(item))
	}
	return out
}

// EachValue returns a map with the result of a function for each value.
func EachValue[K comparable, V, R any](values map[K]V, of func(V) R) map[K]R {
	out := make(map[K]R, len(values))
	for key, value := range values {
		out[key] = of(value)
	}
	return out
}
