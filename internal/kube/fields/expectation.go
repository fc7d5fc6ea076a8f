package fields

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Some of our fields are atomic: lists whose schema does not identify items, such as the worker groups of a RayCluster,
// and maps such as node selectors. The server sets defaults inside such lists, and controllers add to them, but no
// other manager can own a part of the field. Therefore items are compared only by what was sent. What others add to
// them is not ours.

// expectation is the value that a field is expected to have: as it was sent, and as the server admitted it.
type expectation struct {
	sent    any
	wasSent bool

	admitted    any
	wasAdmitted bool // the server did not omit it
	recorded    bool // admitted is known, not assumed
}

// expectSent expects the value that was sent, of which the server may omit zeros.
func expectSent(sent any) expectation {
	return expectation{sent: sent, wasSent: true, admitted: sent, wasAdmitted: true}
}

// mayBeAbsent reports whether the absence of the value is not a change.
func (e expectation) mayBeAbsent() bool {
	return !e.wasAdmitted || (Empty(e.sent) && !e.recorded)
}

// at returns the expectation for a field of the value.
func (e expectation) at(key string) expectation {
	was, _ := e.sent.(map[string]any)
	as, known := e.admitted.(map[string]any)
	out := expectation{recorded: e.recorded && known}
	out.sent, out.wasSent = was[key]
	out.admitted, out.wasAdmitted = as[key]
	return out
}

// item returns the expectation for an item of the list.
func (e expectation) item(i int) expectation {
	was, _ := e.sent.([]any)
	as, _ := e.admitted.([]any)
	out := expectSent(was[i])
	if len(as) == len(was) {
		out.admitted, out.recorded = as[i], e.recorded
	}
	return out
}

// location is the position of a value.
type location struct {
	field    string // the name of the field, or of the list that it is an item of
	parent   string // that of the field that contains it
	quantity bool   // a Kubernetes quantity, which has several notations
	shared   bool   // others may add to maps
	queued   bool   // a queue may append tolerations
}

func locationOf(path fieldpath.Path, shared bool) location {
	p := location{shared: shared, queued: shared}
	for _, pe := range path {
		if pe.FieldName != nil {
			p = p.at(*pe.FieldName)
		}
	}
	return p
}

func (p location) at(key string) location {
	p.field, p.parent, p.quantity = key, p.field, isQuantity(p.parent, p.field, key)
	return p
}

// added returns what a queue has appended to a list with n items of ours: the tolerations of the nodes to which it has
// admitted the workload.
func (p location) added(n int, list []any) []any {
	if !p.queued || p.field != "tolerations" || len(list) < n {
		return nil
	}
	return list[n:]
}

// isQuantity reports whether a field of a type of Kubernetes is a quantity. A custom kind can have others with its
// name, such as limits with the version "1.10".
func isQuantity(grandparent, parent, field string) bool {
	switch parent {
	case "requests", "limits":
		return grandparent == "resources"
	case "minResources", "capacity", "overhead":
		return true
	}
	return parent == "emptyDir" && field == "sizeLimit" || parent == "resourceFieldRef" && field == "divisor"
}

// matchedBy reports whether a value still contains everything that was sent, in this notation or as the server
// admitted it.
func (e expectation) matchedBy(now any, at location) bool {
	if equal(e.admitted, now) || (Empty(e.sent) && Empty(now) && !e.recorded) {
		return true
	}
	switch was := e.sent.(type) {
	case map[string]any:
		is, ok := now.(map[string]any)
		if !ok {
			return false
		}
		for key := range was {
			value, has := is[key]
			if field := e.at(key); has && !field.matchedBy(value, at.at(key)) || !has && !field.mayBeAbsent() {
				return false
			}
		}
		if len(foreignMembers(at.field, was, is)) > 0 {
			return false
		}
		return at.shared || !e.hasForeignKey(is)
	case []any:
		return e.itemsMatchedBy(len(was), now, at)
	default:
		return equal(e.sent, now) || (at.quantity && sameQuantity(e.sent, now))
	}
}

// itemsMatchedBy is matchedBy for a list of n items.
func (e expectation) itemsMatchedBy(n int, now any, at location) bool {
	is, ok := now.([]any)
	if !ok || len(is)-len(at.added(n, is)) != n {
		return false
	}
	at.shared = true
	for i := range n {
		if !e.item(i).matchedBy(is[i], at) {
			return false
		}
	}
	return true
}

// sameQuantity reports whether two texts or numbers are the same quantity.
func sameQuantity(a, b any) bool {
	qa, errA := resource.ParseQuantity(fmt.Sprint(a))
	qb, errB := resource.ParseQuantity(fmt.Sprint(b))
	return errA == nil && errB == nil && qa.Cmp(qb) == 0
}

// hasForeignKey reports whether a map has a key that was neither sent nor set by the server.
func (e expectation) hasForeignKey(now map[string]any) bool {
	for key := range now {
		if field := e.at(key); !field.wasSent && !field.wasAdmitted {
			return true
		}
	}
	return false
}

// inSentForm returns now in the notation that was sent, wherever it has the sent values. It omits what others added
// where they may add.
func (e expectation) inSentForm(now any, at location) any {
	if e.matchedBy(now, at) {
		return e.sent
	}
	switch was := e.sent.(type) {
	case map[string]any:
		is, ok := now.(map[string]any)
		if !ok {
			return now
		}
		member := unionMember(at.field)
		swapped := len(foreignMembers(at.field, was, is)) > 0
		out := map[string]any{}
		for key, value := range is {
			field := e.at(key)
			switch {
			case swapped && member(key): // the foreign member is not shown, and ours has no effect
			case field.wasSent:
				out[key] = field.inSentForm(value, at.at(key))
			case !at.shared && !field.wasAdmitted:
				out[key] = value
			}
		}
		return out
	case []any:
		is, ok := now.([]any)
		if !ok {
			return now
		}
		is = is[:len(is)-len(at.added(len(was), is))]
		at.shared = true
		out := make([]any, len(is))
		for i, j := range pair(is, was) {
			out[i] = is[i]
			if j >= 0 {
				out[i] = e.item(j).inSentForm(is[i], at)
			}
		}
		return out
	default:
		return now
	}
}
