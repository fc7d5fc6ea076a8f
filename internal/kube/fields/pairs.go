package fields

// identities are the fields that identify the items of a list, in the order in which pair tries them.
func identities() []string {
	return []string{"name", "groupName", "key", "mountPath", "containerPort", "port", "topologyKey"}
}

// pair returns for each item of one list the index of the same item in the other, or -1 if there is none or if it is
// ambiguous. Two items are the same if they have the same identity: the value of the first field of [identities]
// that every item of both lists has, without duplicates. Without such a field, two items are the same if exactly one
// of the others has equal contents, or contains all of its contents.
func pair(list, others []any) []int {
	for _, field := range identities() {
		if _, ok := indexBy(list, field); ok {
			if theirs, ok := indexBy(others, field); ok {
				return pairByField(list, field, theirs)
			}
		}
	}
	out := make([]int, len(list))
	for i, item := range list {
		out[i] = uniqueIndex(others,
			func(other any) bool { return expectSent(other).matchedBy(item, location{shared: true}) })
		if out[i] < 0 {
			out[i] = uniqueIndex(others,
				func(other any) bool { return expectSent(item).matchedBy(other, location{shared: true}) })
		}
	}
	return dropDuplicates(out)
}

func pairByField(list []any, field string, theirs map[any]int) []int {
	out := make([]int, len(list))
	for i, item := range list {
		m, _ := item.(map[string]any)
		j, found := theirs[asKey(m[field])]
		if out[i] = j; !found {
			out[i] = -1
		}
	}
	return out
}

// indexBy returns the index of each value of a field. ok is false unless every item has the field, with a value of
// its own.
func indexBy(list []any, field string) (index map[any]int, ok bool) {
	index = make(map[any]int, len(list))
	for i, item := range list {
		m, _ := item.(map[string]any)
		value, has := m[field]
		if !has || isContainer(value) {
			return nil, false
		}
		if _, duplicate := index[asKey(value)]; duplicate {
			return nil, false
		}
		index[asKey(value)] = i
	}
	return index, true
}

// asKey returns a scalar as the key of a map. Keys of values that are [equal] are the same.
func asKey(scalar any) any {
	if n, ok := scalar.(int64); ok {
		return float64(n)
	}
	return scalar
}

// uniqueIndex returns the index of the only item that matches, or -1 if none or several match.
func uniqueIndex(list []any, match func(any) bool) int {
	found := -1
	for i, item := range list {
		if !match(item) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// dropDuplicates sets every index that occurs more than once to -1.
func dropDuplicates(indexes []int) []int {
	times := map[int]int{}
	for _, i := range indexes {
		times[i]++
	}
	for at, i := range indexes {
		if times[i] > 1 {
			indexes[at] = -1
		}
	}
	return indexes
}
