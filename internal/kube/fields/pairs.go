package fields

// identities are the fields that tell the items of a list apart, in the order in
// which they are tried.
func identities() []string {
	return []string{"name", "groupName", "key", "mountPath", "containerPort", "port", "topologyKey"}
}

// pairs says for each item of one list which item of another is the same, -1
// where there is none or that cannot be told. Items are the same that have the
// same identity: the value of the first of [identities] that every item of both
// lists has, each another one. Without such a field items are paired where
// exactly one of the others says the same, or all that it says.
func pairs(list, others []any) []int {
	for _, field := range identities() {
		if _, ok := indexBy(list, field); ok {
			if theirs, ok := indexBy(others, field); ok {
				return pairBy(list, field, theirs)
			}
		}
	}
	out := make([]int, len(list))
	for i, item := range list {
		out[i] = only(others, func(other any) bool { return unrecorded(other).holds(item, place{shared: true}) })
		if out[i] < 0 {
			out[i] = only(others, func(other any) bool { return unrecorded(item).holds(other, place{shared: true}) })
		}
	}
	return distinct(out)
}

func pairBy(list []any, field string, theirs map[any]int) []int {
	out := make([]int, len(list))
	for i, item := range list {
		out[i] = -1
		if m, ok := item.(map[string]any); ok {
			if j, found := theirs[whole(m[field])]; found {
				out[i] = j
			}
		}
	}
	return out
}

// indexBy returns where each value of a field is; ok is false unless every item
// has it, each another one.
func indexBy(list []any, field string) (index map[any]int, ok bool) {
	index = make(map[any]int, len(list))
	for i, item := range list {
		m, isMap := item.(map[string]any)
		value, has := m[field]
		if !isMap || !has || isContainer(value) {
			return nil, false
		}
		if _, twice := index[whole(value)]; twice {
			return nil, false
		}
		index[whole(value)] = i
	}
	return index, true
}

// only returns the index of the one item that is meant, -1 where there are none or several.
func only(list []any, meant func(any) bool) int {
	found := -1
	for i, item := range list {
		if !meant(item) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// distinct takes out what was chosen more than once.
func distinct(chosen []int) []int {
	times := map[int]int{}
	for _, i := range chosen {
		times[i]++
	}
	for at, i := range chosen {
		if times[i] > 1 {
			chosen[at] = -1
		}
	}
	return chosen
}
