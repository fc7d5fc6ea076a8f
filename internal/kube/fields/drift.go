package fields

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Applied is the record of one applied object.
type Applied struct {
	// Object is exactly what was sent.
	Object map[string]any
	// Set is the set of fields that the server recorded as ours.
	Set *fieldpath.Set
	// Admitted contains, by String of the path, the value that the server stored for a field if it differs from
	// ours: a quantity in another notation, a zero that a type omits (nil), a value that a mutating webhook
	// replaced. As long as the field has this value, it has not been changed since.
	Admitted map[string]any
	// Recorded is true if Admitted was written when the object was applied. Then a field without an entry in it has
	// the value that was sent. Otherwise, a zero or empty value may be absent from the live object although it was not
	// removed.
	Recorded bool
	// Shared is true if others may add to our atomic maps, such as node selectors, and append tolerations. A queue does
	// this when it admits a workload.
	Shared bool
}

// Change is one field of ours whose value is no longer the applied one.
type Change struct {
	// Path is the field, in the format of String.
	Path string
	// Removed is true if the field, or the list item that contains it, no longer exists.
	Removed bool
	// Added is true if the field is not ours but conflicts with one that is, such as the second source of a volume.
	Added bool
	// Reordered is true if the order of the items of a list matters and has changed.
	Reordered bool
	// Gained is true if the field is ours by a later apply that is not recorded.
	Gained bool
	// Manager is the current owner of the field, or "". Kubernetes does not record who removes a field or moves list
	// items.
	Manager string
	// Time is when Manager last wrote to the object; zero if unknown.
	Time time.Time

	path fieldpath.Path
}

// Admit compares what was sent with the server's response, and returns the record to keep. The second result lists
// the fields whose value differs from the one sent. It does not count fields that the server omits because they are
// zero or empty, or replaces by a default, and no additions to maps and tolerations.
func Admit(sent map[string]any, response *unstructured.Unstructured, set *fieldpath.Set) (Applied, []string) {
	applied := Applied{Object: sent, Set: set, Admitted: map[string]any{}, Recorded: true}
	var rewritten []string
	for _, path := range Paths(set.Leaves()) {
		was, wasSent := lookup(sent, path)
		now, hasIt := lookup(response.Object, path)
		if wasSent == hasIt && equal(was, now) {
			continue
		}
		applied.Admitted[String(path)] = now
		if !expectSent(was).matchedBy(now, locationOf(path, true)) && !isDefaultedZero(was) {
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

// isDefaultedZero reports whether a type without pointers cannot tell a value from an absent one, so that the server
// replaces it by the default of the field.
func isDefaultedZero(sent any) bool { return equal(sent, "") || equal(sent, int64(0)) }

// Drift returns what was applied, with the live values of our fields. The document keeps the order and notation of
// the applied one, so that the two differ only in changed fields. The provider is never
// reported as the author of a change.
func (a Applied) Drift(live *unstructured.Unstructured) (map[string]any, []Change) {
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
			// A map or list item that contains other fields of ours changes only by being removed.
			if hasIt || !isItem(path) {
				continue
			}
			gone = append(gone, path)
		case a.unchanged(path, now, hasIt, live):
			continue
		}
		if hasIt {
			doc, _ = set(doc, path, a.expected(path).inSentForm(now, locationOf(path, a.Shared))).(map[string]any)
		} else {
			doc, _ = remove(doc, path).(map[string]any)
		}
		changes = append(changes, Change{Path: String(path), Removed: !hasIt, path: path})
	}
	doc, siblings := a.foreignUnionMembers(doc, live)
	doc, reordered := a.reordered(doc, live)
	changes = append(append(changes, siblings...), reordered...)
	setManagers(changes, live)
	return doc, changes
}

// expected returns the expectation for the field at path.
func (a Applied) expected(path fieldpath.Path) expectation {
	was, wasSent := lookup(a.Object, path)
	e := expectation{sent: was, wasSent: wasSent, admitted: was, wasAdmitted: wasSent, recorded: a.Recorded}
	if admitted, rewritten := a.Admitted[String(path)]; rewritten {
		e.admitted, e.wasAdmitted = admitted, admitted != nil
	}
	return e
}

// unchanged reports whether the field still has the value that the server admitted.
func (a Applied) unchanged(path fieldpath.Path, now any, hasIt bool, live *unstructured.Unstructured) bool {
	e := a.expected(path)
	if !hasIt {
		return e.mayBeAbsent()
	}
	// The content of an empty struct of ours is owned by others, field by field.
	return e.matchedBy(now, locationOf(path, a.Shared)) || Empty(e.sent) && granular(live, path)
}

// granular reports whether the server records an owner for each field or item inside path. If it does not, they
// belong to the owner of path.
func granular(live *unstructured.Unstructured, path fieldpath.Path) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		set, err := Decode(entry)
		return err == nil && hasChildren(set, path)
	})
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// setManagers sets for each changed field who else owns it now. If several managers do, it is the latest one to
// write.
func setManagers(changes []Change, live *unstructured.Unstructured) {
	if len(changes) == 0 {
		return
	}
	for _, entry := range live.GetManagedFields() {
		theirs, err := Decode(entry)
		if err != nil || entry.Manager == manager {
			continue // an unreadable entry has no owner to report
		}
		at := ptr.Deref(entry.Time, metav1.Time{}).Time
		for i, change := range changes {
			if change.Reordered || !(theirs.Has(change.path) || hasChildren(theirs, change.path)) {
				continue
			}
			if change.Manager == "" || at.After(change.Time) {
				changes[i].Manager, changes[i].Time = entry.Manager, at
			}
		}
	}
}

func hasChildren(set *fieldpath.Set, path fieldpath.Path) bool { return !within(set, path).Empty() }

// within returns the fields of a set that path contains.
func within(set *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	for _, pe := range path {
		set = set.WithPrefix(pe)
	}
	return set
}

// isItem reports whether path is a list item with keys.
func isItem(path fieldpath.Path) bool { return path[len(path)-1].Key != nil }

func isPrefix(prefix, path fieldpath.Path) bool {
	return prefix.Equals(path[:min(len(prefix), len(path))])
}
