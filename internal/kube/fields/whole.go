package fields

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Some fields are ours as a whole, whatever is in them: lists whose items no
// schema tells apart, such as the worker groups of a RayCluster, and maps such
// as node selectors. Inside of such lists the server fills in its defaults, and
// controllers write beside us; nobody but us can own any of it. So the items
// are compared by what we put into them: what others add there is theirs.

// expectation is what a value is to be: as it was sent, and as the server
// admitted it.
type expectation struct {
	sent  any
	hadIt bool // it was sent

	admitted any
	kept     bool // the server did not leave it out
	recorded bool // admitted and kept are known, not supposed
}

// unrecorded expects what was sent, of which the server may leave out zeros.
func unrecorded(sent any) expectation {
	return expectation{sent: sent, hadIt: true, admitted: sent, kept: true}
}

// mayLack says whether it is no change that the value is missing.
func (e expectation) mayLack() bool {
	return !e.kept || (Empty(e.sent) && !e.recorded) || (e.hadIt && e.sent == nil)
}

// at is what is expected of a field of the value.
func (e expectation) at(key string) expectation {
	was, _ := e.sent.(map[string]any)
	as, known := e.admitted.(map[string]any)
	out := expectation{recorded: e.recorded && known}
	out.sent, out.hadIt = was[key]
	out.admitted, out.kept = as[key]
	if !known {
		out.admitted, out.kept = out.sent, out.hadIt
	}
	return out
}

// item is what is expected of the item of a list.
func (e expectation) item(i int) expectation {
	was, _ := e.sent.([]any)
	as, _ := e.admitted.([]any)
	out := unrecorded(was[i])
	if len(as) == len(was) {
		out.admitted, out.recorded = as[i], e.recorded
	}
	return out
}

// place is where a value stands.
type place struct {
	field    string // the name of the field, or of the list that it is an item of
	quantity bool   // it is a quantity of Kubernetes, which can be written in several ways
	shared   bool   // others may add to maps
}

func placeOf(path fieldpath.Path, shared bool) place {
	p := place{shared: shared}
	for _, pe := range path {
		if pe.FieldName != nil {
			p = p.at(*pe.FieldName)
		}
	}
	return p
}

func (p place) at(key string) place {
	return place{field: key, quantity: isQuantity(p.field, key), shared: p.shared}
}

func isQuantity(parent, field string) bool {
	switch parent {
	case "requests", "limits", "minResources", "capacity":
		return true
	}
	return field == "sizeLimit" || field == "divisor"
}

// holds says whether a value still says all that we said, as we wrote it or as
// the server admitted it.
func (e expectation) holds(now any, at place) bool {
	switch was := e.sent.(type) {
	case map[string]any:
		is, ok := now.(map[string]any)
		if !ok {
			return (now == nil && e.mayLack()) || (e.kept && equal(e.admitted, now))
		}
		for key := range was {
			value, has := is[key]
			if field := e.at(key); has && !field.holds(value, at.at(key)) || !has && !field.mayLack() {
				return false
			}
		}
		if len(intruders(at.field, was, is)) > 0 {
			return false
		}
		return at.shared || !e.adds(is)
	case []any:
		return e.holdsItems(now, at)
	default:
		return equal(e.sent, now) || (e.kept && equal(e.admitted, now)) || (now == nil && e.mayLack()) ||
			(Empty(e.sent) && Empty(now) && !e.recorded) || (at.quantity && sameQuantity(e.sent, now))
	}
}

func (e expectation) holdsItems(now any, at place) bool {
	was, _ := e.sent.([]any)
	is, ok := now.([]any)
	if !ok || len(is) != len(was) {
		return (len(was) == 0 && Empty(now) && !e.recorded) || (now == nil && e.mayLack()) ||
			(e.kept && equal(e.admitted, now))
	}
	at.shared = true
	for i := range was {
		if !e.item(i).holds(is[i], at) {
			return false
		}
	}
	return true
}

// sameQuantity says whether two texts or numbers are the same quantity.
func sameQuantity(a, b any) bool {
	if isContainer(a) || isContainer(b) {
		return false
	}
	qa, errA := resource.ParseQuantity(fmt.Sprint(a))
	qb, errB := resource.ParseQuantity(fmt.Sprint(b))
	return errA == nil && errB == nil && qa.Cmp(qb) == 0
}

// adds says whether a map has a key that neither we nor the server put there.
func (e expectation) adds(now map[string]any) bool {
	for key := range now {
		if field := e.at(key); !field.hadIt && !field.kept {
			return true
		}
	}
	return false
}

// shape is now in our own words wherever it holds what we said, and without
// what others added where they may.
func (e expectation) shape(now any, at place) any {
	if e.holds(now, at) {
		return e.sent
	}
	switch was := e.sent.(type) {
	case map[string]any:
		is, ok := now.(map[string]any)
		if !ok {
			return now
		}
		member := exclusive(at.field)
		swapped := len(intruders(at.field, was, is)) > 0
		out := map[string]any{}
		for key, value := range is {
			field := e.at(key)
			switch {
			case swapped && member(key): // what others wrote is not shown, and ours has no effect
			case field.hadIt:
				out[key] = field.shape(value, at.at(key))
			case !at.shared && !field.kept:
				out[key] = value
			}
		}
		return out
	case []any:
		is, ok := now.([]any)
		if !ok {
			return now
		}
		at.shared = true
		out := make([]any, len(is))
		for i, j := range pairs(is, was) {
			out[i] = is[i]
			if j >= 0 {
				out[i] = e.item(j).shape(is[i], at)
			}
		}
		return out
	default:
		return now
	}
}
