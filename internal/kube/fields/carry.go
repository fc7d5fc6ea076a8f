package fields

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Carry returns next, which is to be applied, with what others have added since
// inside of the fields that are ours as a whole: applying these fields would
// take it away. Lists whose order has no meaning come in the order that they have
// now, so that an apply of something else does not restart pods. next may be any
// other version of the object.
func (a Applied) Carry(next map[string]any, live *unstructured.Unstructured) map[string]any {
	out := runtime.DeepCopyJSON(next)
	if a.Set == nil {
		return out
	}
	for _, path := range Paths(a.Set.Leaves()) {
		wanted, wants := lookup(out, path)
		was, had := lookup(a.Object, path)
		now, has := lookup(live.Object, path)
		if wants && had && has {
			out, _ = set(out, path, carry(wanted, was, now, placeOf(path, a.Shared))).(map[string]any)
		}
	}
	out, _ = inLiveOrder(out, a.Object, live.Object, a.Set, "").(map[string]any)
	return out
}

func carry(next, was, now any, at place) any {
	switch wanted := next.(type) {
	case map[string]any:
		before, _ := was.(map[string]any)
		is, _ := now.(map[string]any)
		replaced := replaces(wanted, before, is, at.field)
		member := exclusive(at.field)
		for key, value := range is {
			ours, mine := wanted[key]
			_, wasOurs := before[key]
			switch {
			case mine:
				wanted[key] = carry(ours, before[key], value, at.at(key))
			case !at.shared, wasOurs, replaced, member != nil && member(key):
			default:
				wanted[key] = runtime.DeepCopyJSONValue(value)
			}
		}
		return wanted
	case []any:
		before, _ := was.([]any)
		is, _ := now.([]any)
		at.shared = true
		mine, theirs := pairs(wanted, before), pairs(before, is)
		for i, j := range mine {
			if j >= 0 && theirs[j] >= 0 {
				wanted[i] = carry(wanted[i], before[j], is[theirs[j]], at)
			}
		}
		return wanted
	default:
		return next
	}
}

// replaces says whether a struct is sent without what others have added, since
// somebody has changed what we had put there: what came with the change would be
// at odds with our value, such as the value of a toleration that is to be Exists
// again. That is so for structs of scalars only; maps that anybody may extend,
// such as labels, are none.
func replaces(wanted, before, now map[string]any, field string) bool {
	open := []string{"labels", "annotations", "nodeSelector", "matchLabels", "requests", "limits", "data"}
	if slices.Contains(open, field) || !flat(wanted) || !flat(now) {
		return false
	}
	for key, value := range before {
		if is, has := now[key]; has && !equal(value, is) || !has && !Empty(value) {
			return true
		}
	}
	return false
}

func flat(m map[string]any) bool {
	for _, value := range m {
		if isContainer(value) {
			return false
		}
	}
	return true
}
