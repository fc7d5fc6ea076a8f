package fields

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Some fields are ours as a whole, whatever is in them: lists whose items no
// schema tells apart, such as the worker groups of a RayCluster, and maps such
// as node selectors. Inside of such lists the server fills in its defaults, and
// controllers write beside us; nobody but us can own any of it. So the items
// are compared by what we put into them: what others add there is theirs.

// holds says whether a value still says all that we said, as we wrote it or as
// the server admitted it. Others may have added to maps where shared is set,
// which it is inside of lists.
func holds(sent, admitted, now any, shared bool) bool {
	switch was := sent.(type) {
	case map[string]any:
		is, ok := now.(map[string]any)
		if !ok {
			return Empty(sent) && Empty(now)
		}
		as, _ := admitted.(map[string]any)
		for key, value := range was {
			if !holds(value, as[key], is[key], shared) {
				return false
			}
		}
		return shared || !adds(is, was, as)
	case []any:
		return holdsItems(was, admitted, now)
	default:
		return equal(sent, now) || (admitted != nil && equal(admitted, now)) || (Empty(sent) && Empty(now))
	}
}

func holdsItems(sent []any, admitted, now any) bool {
	is, ok := now.([]any)
	if !ok || len(is) != len(sent) {
		return (len(sent) == 0 && Empty(now)) || (admitted != nil && equal(admitted, now))
	}
	as, _ := admitted.([]any)
	for i, value := range sent {
		var item any
		if len(as) == len(sent) {
			item = as[i]
		}
		if !holds(value, item, is[i], true) {
			return false
		}
	}
	return true
}

// adds says whether a map has a key that neither we nor the server put there.
func adds(now, sent, admitted map[string]any) bool {
	for key := range now {
		_, ours := sent[key]
		_, servers := admitted[key]
		if !ours && !servers {
			return true
		}
	}
	return false
}

// shaped is now in our own words wherever it holds what we said, and without
// what others added where they may.
func shaped(sent, admitted, now any, shared bool) any {
	if holds(sent, admitted, now, shared) {
		return sent
	}
	switch was := sent.(type) {
	case map[string]any:
		is, ok := now.(map[string]any)
		if !ok {
			return now
		}
		as, _ := admitted.(map[string]any)
		out := map[string]any{}
		for key, value := range is {
			ours, mine := was[key]
			if mine {
				out[key] = shaped(ours, as[key], value, shared)
			} else if _, servers := as[key]; !shared && !servers {
				out[key] = value
			}
		}
		return out
	case []any:
		is, ok := now.([]any)
		if !ok || len(is) != len(was) {
			return now
		}
		as, _ := admitted.([]any)
		out := make([]any, len(is))
		for i := range is {
			var admittedItem any
			if len(as) == len(is) {
				admittedItem = as[i]
			}
			out[i] = shaped(was[i], admittedItem, is[i], true)
		}
		return out
	default:
		return now
	}
}

// Carry returns next, which is to be applied, with what others have added since
// inside of the fields that are ours as a whole: applying these fields would
// take it away. next may be any other version of the object.
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
			out, _ = set(out, path, carry(wanted, was, now, a.Shared)).(map[string]any)
		}
	}
	return out
}

func carry(next, was, now any, shared bool) any {
	switch wanted := next.(type) {
	case map[string]any:
		before, _ := was.(map[string]any)
		is, _ := now.(map[string]any)
		for key, value := range is {
			ours, mine := wanted[key]
			_, wasOurs := before[key]
			switch {
			case mine:
				wanted[key] = carry(ours, before[key], value, shared)
			case shared && !wasOurs:
				wanted[key] = runtime.DeepCopyJSONValue(value)
			}
		}
		return wanted
	case []any:
		before, _ := was.([]any)
		is, _ := now.([]any)
		if len(before) != len(wanted) || len(is) != len(wanted) {
			return next // which item is which cannot be told
		}
		for i := range wanted {
			wanted[i] = carry(wanted[i], before[i], is[i], true)
		}
		return wanted
	default:
		return next
	}
}
