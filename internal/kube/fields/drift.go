package fields

import (
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
	// Recorded says that Admitted was written when the object was applied, so that
	// a field that is not in it holds what was sent. Otherwise a zero or empty
	// value may be missing from the live object without anybody having removed it.
	Recorded bool
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
	// Added says that the field is not ours, but excludes one that is: the second
	// source of a volume.
	Added bool
	// Reordered says that the items of a list whose order matters have moved.
	Reordered bool
	// Manager is who owns the field now, "" where nobody does. Kubernetes keeps no
	// record of who removes a field or moves list items.
	Manager string
	// Time is when Manager last wrote to the object, zero where unknown.
	Time time.Time

	path fieldpath.Path
}

// Admit compares what was sent with what the server made of it, and returns
// the memory to keep. The second result lists the fields that hold another
// value than the one sent, not counting ones that the server merely leaves out
// because they are zero or empty, or replaces by a default.
func Admit(sent map[string]any, response *unstructured.Unstructured, set *fieldpath.Set) (Applied, []string) {
	applied := Applied{Object: sent, Set: set, Admitted: map[string]any{}, Recorded: true}
	var rewritten []string
	for _, path := range Paths(set.Leaves()) {
		was, hadIt := lookup(sent, path)
		now, hasIt := lookup(response.Object, path)
		if hadIt == hasIt && equal(was, now) {
			continue
		}
		applied.Admitted[String(path)] = now
		if !unrecorded(was).holds(now, placeOf(path, true)) && !takesDefault(was) {
			rewritten = append(rewritten, String(path))
		}
	}
	for _, list := range orderedLists(sent, set) {
		if now := list.order(response.Object); !slices.Equal(now, list.order(sent)) {
			applied.Admitted[String(list.path)] = now
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
		case a.unchanged(path, now, hasIt, live):
			continue
		}
		if hasIt {
			doc, _ = set(doc, path, a.expected(path).shape(now, placeOf(path, a.Shared))).(map[string]any)
		} else {
			doc, _ = remove(doc, path).(map[string]any)
		}
		changes = append(changes, Change{Path: String(path), Removed: !hasIt, path: path})
	}
	doc, siblings := a.excluded(doc, live)
	doc, moved := a.moved(doc, live)
	changes = append(append(changes, siblings...), moved...)
	attribute(changes, live, manager)
	return doc, changes
}

// expected is what the field at path held after it was applied.
func (a Applied) expected(path fieldpath.Path) expectation {
	was, hadIt := lookup(a.Object, path)
	e := expectation{sent: was, hadIt: hadIt, admitted: was, kept: hadIt, recorded: a.Recorded}
	if admitted, rewritten := a.Admitted[String(path)]; rewritten {
		e.admitted, e.kept = admitted, admitted != nil
	}
	return e
}

// unchanged says whether the field still holds what the server admitted.
func (a Applied) unchanged(path fieldpath.Path, now any, hasIt bool, live *unstructured.Unstructured) bool {
	e := a.expected(path)
	switch {
	case !hasIt:
		return e.mayLack()
	case !e.hadIt && !e.kept:
		return Empty(now) && !a.Recorded
	case isContainer(e.sent) && Empty(e.sent) && !Empty(now) && granular(live, path):
		return true // what is in it belongs to others, field by field
	default:
		return e.holds(now, placeOf(path, a.Shared))
	}
}

// granular says whether the server records who owns the fields or items inside
// of path one by one. Where it does not, they go with the field as a whole.
func granular(live *unstructured.Unstructured, path fieldpath.Path) bool {
	for _, entry := range live.GetManagedFields() {
		if set, err := decode(entry); err == nil && hasChildren(set, path) {
			return true
		}
	}
	return false
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// attribute fills in who else holds each changed field now; where several
// managers do, the latest writer.
func attribute(changes []Change, live *unstructured.Unstructured, self string) {
	if len(changes) == 0 {
		return
	}
	for _, entry := range live.GetManagedFields() {
		theirs, err := decode(entry)
		if err != nil || entry.Manager == self {
			continue // an entry that cannot be read names nobody
		}
		at := written(entry)
		for i, change := range changes {
			if change.Removed || change.Reordered || !(theirs.Has(change.path) || hasChildren(theirs, change.path)) {
				continue
			}
			if change.Manager == "" || at.After(change.Time) {
				changes[i].Manager, changes[i].Time = entry.Manager, at
			}
		}
	}
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
