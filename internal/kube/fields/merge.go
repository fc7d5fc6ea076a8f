package fields

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// MergeForeign returns next, the object to apply, together with what other managers have since added inside our atomic
// fields. Applying these fields without it would remove it. Lists whose order has no meaning keep
// their live order, so that an unrelated change does not restart pods. next may be any other version of the object.
func (a Applied) MergeForeign(next map[string]any, live *unstructured.Unstructured) map[string]any {
	out := runtime.DeepCopyJSON(next)
	for _, path := range Paths(a.Set.Leaves()) {
		wanted, wants := lookup(out, path)
		was, had := lookup(a.Object, path)
		now, has := lookup(live.Object, path)
		if wants && had && has {
			out, _ = set(out, path, merge(wanted, was, now, locationOf(path, a.Shared))).(map[string]any)
		}
	}
	out, _ = inLiveOrder(out, a.Object, live.Object, a.Set, "").(map[string]any)
	return out
}

// merge returns next with what others have added, and changes it.
func merge(next, was, now any, at location) any {
	switch wanted := next.(type) {
	case map[string]any:
		before, _ := was.(map[string]any)
		is, _ := now.(map[string]any)
		replaced := replaceStruct(wanted, before, is, at.field)
		member := unionMember(at.field)
		for key, value := range is {
			ours, isOurs := wanted[key]
			_, wasOurs := before[key]
			switch {
			case isOurs:
				wanted[key] = merge(ours, before[key], value, at.at(key))
			case !at.shared, wasOurs, replaced, member != nil && member(key):
			default:
				wanted[key] = runtime.DeepCopyJSONValue(value)
			}
		}
	case []any:
		before, _ := was.([]any)
		is, _ := now.([]any)
		at.shared = true
		ours, theirs := pair(wanted, before), pair(before, is)
		for i, j := range ours {
			if j >= 0 && theirs[j] >= 0 {
				wanted[i] = merge(wanted[i], before[j], is[theirs[j]], at)
			}
		}
		for _, item := range at.added(len(before), is) {
			if !slices.ContainsFunc(wanted, func(ours any) bool { return equal(ours, item) }) {
				wanted = append(wanted, runtime.DeepCopyJSONValue(item))
			}
		}
		return wanted
	}
	return next
}

// replaceStruct reports whether a struct is sent without the fields that others have added, because another client
// changed a value of ours in it. What was added with that change would contradict our value: for example, the value of
// a toleration whose operator becomes Exists again. This applies only to structs of scalars, not to maps that every
// client may extend, such as labels.
func replaceStruct(wanted, before, now map[string]any, field string) bool {
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
	return !slices.ContainsFunc(slices.Collect(maps.Values(m)), isContainer)
}
