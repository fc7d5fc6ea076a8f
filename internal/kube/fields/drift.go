package fields

import (
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Applied is what is remembered of one object after we applied it.
type Applied struct {
	// Object holds exactly what was sent.
	Object map[string]any
	// Set holds the fields that the server recorded as ours for it.
	Set *fieldpath.Set
	// Admitted holds, by String of the path, the value that the server made of
	// ours where the two differ: a quantity written another way, a zero that a
	// type leaves out (nil), a value that a mutating webhook replaced. As long
	// as the field still holds it, nobody has changed the field since.
	Admitted map[string]any
	// Shared says that others may add to maps that are ours as a whole, such as
	// node selectors: a queue does, when it lets a workload run.
	Shared bool
}

// Change is one field of ours that no longer holds what we applied.
type Change struct {
	// Path is the field, as String writes it.
	Path string
	// Removed says that the field, or the list item that it is in, is gone.
	Removed bool
	// Manager is who owns the field now, "" where nobody does. Kubernetes keeps
	// no record of who removes a field: for one that is gone it is who wrote to
	// the object last after we did, "" where nobody has.
	Manager string
	// Time is when Manager last wrote to the object, zero where unknown.
	Time time.Time
}

// Admit compares what was sent with what the server made of it, and returns
// the memory to keep. The second result lists the fields that hold another
// value than the one sent, not counting ones that the server merely leaves out
// because they are zero or empty, or replaces by a default.
func Admit(sent map[string]any, response *unstructured.Unstructured, set *fieldpath.Set) (Applied, []string) {
	applied := Applied{Object: sent, Set: set, Admitted: map[string]any{}}
	var rewritten []string
	for _, path := range Paths(set.Leaves()) {
		was, hadIt := lookup(sent, path)
		now, hasIt := lookup(response.Object, path)
		if hadIt == hasIt && equal(was, now) {
			continue
		}
		applied.Admitted[String(path)] = now
		if !holds(was, nil, now, true) && !takesDefault(was) {
			rewritten = append(rewritten, String(path))
		}
	}
	return applied, rewritten
}

// takesDefault says whether a value is one that types without pointers do not
// tell from none, so that the server puts the field's default in its place.
func takesDefault(sent any) bool { return equal(sent, "") || equal(sent, int64(0)) }

// Drift overlays the live values of our fields on what was applied. The
// document keeps the applied order and wording wherever nothing changed, so
// that it differs from the applied one in the changed fields only. Manager is
// our own name: it is never who changed a field, even where it still holds it.
func (a Applied) Drift(live *unstructured.Unstructured, manager string) (map[string]any, []Change) {
	doc := runtime.DeepCopyJSON(a.Object)
	var changes []Change
	var gone []fieldpath.Path
	for _, path := range Paths(a.Set) {
		if slices.ContainsFunc(gone, func(g fieldpath.Path) bool { return isPrefix(g, path) }) {
			continue
		}
		now, hasIt := lookup(live.Object, path)
		switch {
		case hasChildren(a.Set, path):
			// A map or list item that holds other fields of ours: only its absence is news.
			if hasIt || !isItem(path) {
				continue
			}
			gone = append(gone, path)
		case a.unchanged(path, now, hasIt):
			continue
		}
		if hasIt {
			was, _ := lookup(a.Object, path)
			doc, _ = set(doc, path, shaped(was, a.Admitted[String(path)], now, a.Shared)).(map[string]any)
		} else {
			doc, _ = remove(doc, path).(map[string]any)
		}
		changes = append(changes, Change{Path: String(path), Removed: !hasIt})
	}
	attribute(changes, a.Set, live, manager)
	return doc, changes
}

// unchanged says whether the field still holds what the server admitted.
func (a Applied) unchanged(path fieldpath.Path, now any, hasIt bool) bool {
	admitted, rewritten := a.Admitted[String(path)]
	if rewritten && equal(admitted, now) {
		return true
	}
	was, hadIt := lookup(a.Object, path)
	switch {
	case rewritten && !isWhole(was):
		return false // what was sent before admission is no value of the field
	case hadIt != hasIt:
		return Empty(was) && Empty(now)
	default:
		return holds(was, admitted, now, a.Shared)
	}
}

func isWhole(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// attribute fills in who else holds each changed field now; where several
// managers do, the latest writer. Of a removed field there is no record, so it
// is put down to whoever wrote to the object last after us, if anybody did.
func attribute(changes []Change, ours *fieldpath.Set, live *unstructured.Unstructured, self string) {
	if len(changes) == 0 {
		return
	}
	paths := map[string]fieldpath.Path{}
	for _, path := range Paths(ours) {
		paths[String(path)] = path
	}
	applied := lastApplied(live, self)
	for _, entry := range live.GetManagedFields() {
		theirs, err := decode(entry)
		if err != nil || entry.Manager == self {
			continue // an entry that cannot be read names nobody
		}
		at := written(entry)
		for i, change := range changes {
			concerned := theirs.Has(paths[change.Path])
			if change.Removed {
				concerned = entry.Subresource == "" && !at.Before(applied)
			}
			if concerned && (change.Manager == "" || at.After(change.Time)) {
				changes[i].Manager, changes[i].Time = entry.Manager, at
			}
		}
	}
}

func lastApplied(live *unstructured.Unstructured, self string) time.Time {
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == self && entry.Operation == metav1.ManagedFieldsOperationApply {
			return written(entry)
		}
	}
	return time.Time{}
}

func written(entry metav1.ManagedFieldsEntry) time.Time {
	if entry.Time == nil {
		return time.Time{}
	}
	return entry.Time.Time
}

func hasChildren(set *fieldpath.Set, path fieldpath.Path) bool {
	for _, pe := range path {
		child, ok := set.Children.Get(pe)
		if !ok {
			return false
		}
		set = child
	}
	return true
}

func isItem(path fieldpath.Path) bool {
	last := path[len(path)-1]
	return last.Key != nil || last.Value != nil
}

func isPrefix(prefix, path fieldpath.Path) bool {
	return len(prefix) <= len(path) && prefix.Equals(path[:len(prefix)])
}

// lookup returns the value at path, and whether there is one.
func lookup(v any, path fieldpath.Path) (any, bool) {
	for _, pe := range path {
		next, ok := child(v, pe)
		if !ok {
			return nil, false
		}
		v = next
	}
	return v, true
}

func child(v any, pe fieldpath.PathElement) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if pe.FieldName == nil {
			return nil, false
		}
		field, ok := v[*pe.FieldName]
		return field, ok
	case []any:
		if i := slices.IndexFunc(v, func(item any) bool { return Matches(item, pe) }); i >= 0 {
			return v[i], true
		}
	}
	return nil, false
}

// set returns v with the value at path replaced, making what is missing on the
// way. v may be changed.
func set(v any, path fieldpath.Path, to any) any {
	if len(path) == 0 {
		return to
	}
	pe := path[0]
	if pe.FieldName != nil {
		m, ok := v.(map[string]any)
		if !ok {
			m = map[string]any{}
		}
		m[*pe.FieldName] = set(m[*pe.FieldName], path[1:], to)
		return m
	}
	list, _ := v.([]any)
	if i := slices.IndexFunc(list, func(item any) bool { return Matches(item, pe) }); i >= 0 {
		list[i] = set(list[i], path[1:], to)
		return list
	}
	return append(list, set(nil, path[1:], to))
}

// remove returns v without the value at path. v may be changed.
func remove(v any, path fieldpath.Path) any {
	pe, last := path[0], len(path) == 1
	switch v := v.(type) {
	case map[string]any:
		if pe.FieldName == nil {
			return v
		}
		if last {
			delete(v, *pe.FieldName)
		} else if field, ok := v[*pe.FieldName]; ok {
			v[*pe.FieldName] = remove(field, path[1:])
		}
		return v
	case []any:
		i := slices.IndexFunc(v, func(item any) bool { return Matches(item, pe) })
		if i < 0 {
			return v
		}
		if last {
			return slices.Delete(v, i, i+1)
		}
		v[i] = remove(v[i], path[1:])
		return v
	default:
		return v
	}
}

// equal compares JSON values; whole numbers are equal whether a decoder made
// them int64 or float64.
func equal(a, b any) bool {
	return reflect.DeepEqual(whole(a), whole(b))
}

func whole(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case int:
		return float64(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = whole(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = whole(item)
		}
		return out
	default:
		return v
	}
}

// Empty says whether a typed API object leaves the value out (omitempty).
func Empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return reflect.ValueOf(v).IsZero()
	}
}
