package fields

import (
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// pair returns for each item of one list the index of the same item in the other, or -1 if there is none or if it is
// ambiguous. Two items are the same if they have the same identity, see [kind.Pair]. Without one, two items are the
// same if exactly one of the others has equal contents, or contains all of its contents.
func pair(list, others []any) []int {
	identities := []string{"name", "groupName", "key", "mountPath", "containerPort", "port", "topologyKey"}
	if out, ok := kind.Pair(identities, list, others); ok {
		return out
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

// uniqueIndex returns the index of the only item that matches, or -1 if none or several match.
func uniqueIndex(list []any, match func(any) bool) int {
	first := slices.IndexFunc(list, match)
	if first >= 0 && slices.ContainsFunc(list[first+1:], match) {
		return -1
	}
	return first
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
