package fields

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// The server identifies items of a list with keys by these keys. It does not record their order, which has no owner.
// An order without meaning is left unchanged. A changed order with a meaning is drift: init containers run one after
// another, and a variable can refer to those before it, $(NAME).

// keyedList is a list of ours whose items have keys.
type keyedList struct {
	path  fieldpath.Path
	items []fieldpath.PathElement
}

// order returns our items as texts, in the order of the object.
func (l keyedList) order(object map[string]any) []any {
	value, _ := lookup(object, l.path)
	list, _ := value.([]any)
	return names(list, l.items)
}

// names returns the items of a list as texts, in their order.
func names(list []any, items []fieldpath.PathElement) []any {
	at := map[int]string{}
	for _, pe := range items {
		at[find(list, pe)] = pe.String()
	}
	out := []any{}
	for i := range list {
		if name, ours := at[i]; ours {
			out = append(out, name)
		}
	}
	return out
}

// orderedLists returns the lists of the set whose order has a meaning.
func orderedLists(object map[string]any, set *fieldpath.Set) []keyedList {
	var out []keyedList
	eachStruct(nil, set, func(path fieldpath.Path, children *fieldpath.Set) {
		field := path[len(path)-1].FieldName
		if field == nil {
			return
		}
		if value, _ := lookup(object, path); orderMatters(*field, value) {
			out = append(out, keyedList{path: path, items: keys(children)})
		}
	})
	return out
}

// keys returns the items with keys on the first level of a set.
func keys(set *fieldpath.Set) []fieldpath.PathElement {
	return slices.DeleteFunc(elements(set), func(pe fieldpath.PathElement) bool { return pe.Key == nil })
}

func orderMatters(field string, value any) bool {
	list, _ := value.([]any)
	return field == "initContainers" || field == "env" && slices.ContainsFunc(list, func(item any) bool {
		variable, _ := item.(map[string]any)
		text, _ := variable["value"].(string)
		return strings.Contains(text, "$(")
	})
}

// reordered reports the lists whose items are not in the order in which they were admitted. The document has them in
// live order.
func (a Applied) reordered(doc map[string]any, live *unstructured.Unstructured) (map[string]any, []Change) {
	var changes []Change
	for _, list := range orderedLists(a.Object, a.Set) {
		now, was := list.order(live.Object), list.order(a.Object)
		if admitted, ok := a.Admitted[String(list.path)].([]any); ok {
			was = admitted
		}
		if sameOrder(now, was) {
			continue
		}
		changes = append(changes, Change{Path: String(list.path), Reordered: true, path: list.path})
		doc = inOrderOf(live.Object, doc, list.path, list.items)
	}
	return doc, changes
}

// inOrderOf returns a document with our items of a list in the order of a live object. It may change the document.
func inOrderOf(live, doc map[string]any, path fieldpath.Path, items []fieldpath.PathElement) map[string]any {
	value, _ := lookup(doc, path)
	theirs, _ := lookup(live, path)
	ours, _ := value.([]any)
	is, _ := theirs.([]any)
	doc, _ = set(doc, path, reorderLike(ours, is, items)).(map[string]any)
	return doc
}

// sameOrder reports whether the items that two lists have in common are in the same order.
func sameOrder(list, other []any) bool { return slices.Equal(common(list, other), common(other, list)) }

// common returns the items of a list that another list also has.
func common(list, other []any) []any {
	return slices.DeleteFunc(slices.Clone(list), func(item any) bool { return !slices.Contains(other, item) })
}

// reorderLike returns the items of a list in the order of another one. Items that the other list lacks keep their
// position.
func reorderLike(list, other []any, items []fieldpath.PathElement) []any {
	type slot struct{ here, there int }
	var slots []slot
	for _, pe := range items {
		if here, there := find(list, pe), find(other, pe); here >= 0 && there >= 0 {
			slots = append(slots, slot{here, there})
		}
	}
	byPlace := slices.Clone(slots)
	slices.SortFunc(byPlace, func(a, b slot) int { return a.here - b.here })
	slices.SortFunc(slots, func(a, b slot) int { return a.there - b.there })
	out := slices.Clone(list)
	for i := range slots {
		out[byPlace[i].here] = list[slots[i].here]
	}
	return out
}

// inLiveOrder returns next with its lists in live order. It leaves lists alone whose order has a meaning, or is
// different in next from the applied one.
func inLiveOrder(next, was, live any, set *fieldpath.Set, field string) any {
	switch wanted := next.(type) {
	case map[string]any:
		before, _ := was.(map[string]any)
		is, _ := live.(map[string]any)
		for pe := range set.Children.All() {
			if pe.FieldName == nil {
				continue
			}
			name := *pe.FieldName
			inner, _ := set.Children.Get(pe)
			if value, has := wanted[name]; has {
				wanted[name] = inLiveOrder(value, before[name], is[name], inner, name)
			}
		}
	case []any:
		before, _ := was.([]any)
		is, _ := live.([]any)
		items := keys(set)
		for _, pe := range items {
			inner, isStruct := set.Children.Get(pe)
			if i := find(wanted, pe); i >= 0 && isStruct {
				had, _ := child(before, pe)
				has, _ := child(is, pe)
				wanted[i] = inLiveOrder(wanted[i], had, has, inner, field)
			}
		}
		if !orderMatters(field, wanted) && sameOrder(names(wanted, items), names(before, items)) {
			return reorderLike(wanted, is, items)
		}
	}
	return next
}
