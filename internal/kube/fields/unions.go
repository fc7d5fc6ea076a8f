package fields

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Some structs of the pod template are unions: of a volume's sources, of the
// handlers of a probe, of an environment variable's value and valueFrom, one at
// most may be given
// (https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/).
// Server-side apply knows none of that: it leaves a member that somebody else
// wrote beside ours. Built-in kinds refuse the two; custom resources that hold a
// pod template keep both.

// exclusive says of which keys at most one may be given, in the structs that are
// called field or are the items of a list called so; nil where the struct is no union.
func exclusive(field string) func(key string) bool {
	switch field {
	case "volumes":
		return func(key string) bool { return key != "name" }
	case "sources", "valueFrom": // of a projected volume, of a variable
		return func(string) bool { return true }
	case "env":
		return oneOf("value", "valueFrom")
	case "envFrom":
		return oneOf("configMapRef", "secretRef")
	case "livenessProbe", "readinessProbe", "startupProbe", "postStart", "preStop":
		return oneOf("exec", "httpGet", "tcpSocket", "grpc", "sleep")
	default:
		return nil
	}
}

func oneOf(keys ...string) func(string) bool {
	return func(key string) bool { return slices.Contains(keys, key) }
}

// intruders returns the members of a union that stand in live beside, or in the
// place of, the one that is wanted.
func intruders(field string, wanted, live map[string]any) []string {
	member := exclusive(field)
	if member == nil || !slices.ContainsFunc(slices.Collect(maps.Keys(wanted)), member) {
		return nil
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(live)) {
		if _, ours := wanted[key]; !ours && member(key) && live[key] != nil {
			out = append(out, key)
		}
	}
	return out
}

// Union is a struct of which a live object has members that exclude ours.
type Union struct {
	// Pointer leads to the struct in the live object: names and indexes.
	Pointer []any
	// Struct is what it is to hold.
	Struct map[string]any
}

// MixedUnions returns the unions of wanted that have other members in live. List
// items are found by name; what is in lists without names is not looked at,
// since those are applied as a whole.
func MixedUnions(wanted, live map[string]any) []Union {
	return mixed("", wanted, live, nil)
}

func mixed(field string, wanted, live any, at []any) []Union {
	var out []Union
	switch want := wanted.(type) {
	case map[string]any:
		is, ok := live.(map[string]any)
		if !ok {
			return nil
		}
		if len(intruders(field, want, is)) > 0 {
			return []Union{{Pointer: slices.Clone(at), Struct: runtime.DeepCopyJSON(want)}}
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			out = append(out, mixed(key, want[key], is[key], append(at, key))...)
		}
	case []any:
		is, _ := live.([]any)
		for _, item := range want {
			if i := namedLike(is, item); i >= 0 {
				out = append(out, mixed(field, item, is[i], append(at, i))...)
			}
		}
	}
	return out
}

// namedLike returns the index of the item that has the name of another.
func namedLike(list []any, other any) int {
	m, _ := other.(map[string]any)
	name, _ := m["name"].(string)
	if name == "" {
		return -1
	}
	return slices.IndexFunc(list, func(item any) bool {
		m, _ := item.(map[string]any)
		return m["name"] == name
	})
}

// excluded reports the members of unions that others have put beside or in the
// place of ours. The document never shows what others wrote: it lacks our member.
func (a Applied) excluded(doc map[string]any, live *unstructured.Unstructured) (map[string]any, []Change) {
	var changes []Change
	eachStruct(a.Set, func(path fieldpath.Path, _ *fieldpath.Set) {
		field := fieldOf(path)
		if exclusive(field) == nil {
			return
		}
		was, _ := lookup(a.Object, path)
		now, _ := lookup(live.Object, path)
		wanted, _ := was.(map[string]any)
		is, _ := now.(map[string]any)
		others := intruders(field, wanted, is)
		for _, key := range others {
			at := append(path.Copy(), fieldpath.FieldNameElement(key))
			changes = append(changes, Change{Path: String(at), Added: true, path: at})
		}
		if len(others) == 0 {
			return
		}
		for key := range wanted {
			if exclusive(field)(key) {
				doc, _ = remove(doc, append(path.Copy(), fieldpath.FieldNameElement(key))).(map[string]any)
			}
		}
	})
	return doc, changes
}

// eachStruct calls visit with every map, list and list item that has children in
// the set, and with these. The path is valid during the call only.
func eachStruct(set *fieldpath.Set, visit func(fieldpath.Path, *fieldpath.Set)) {
	if set != nil {
		walk(nil, set, visit)
	}
}

func walk(prefix fieldpath.Path, set *fieldpath.Set, visit func(fieldpath.Path, *fieldpath.Set)) {
	for _, pe := range slices.Collect(set.Children.All()) {
		if child, ok := set.Children.Get(pe); ok {
			path := slices.Concat(prefix, fieldpath.Path{pe})
			visit(path, child)
			walk(path, child, visit)
		}
	}
}

// fieldOf is the name of the field that a path leads to, or of the list that it
// leads to an item of.
func fieldOf(path fieldpath.Path) string {
	for _, pe := range slices.Backward(path) {
		if pe.FieldName != nil {
			return *pe.FieldName
		}
	}
	return ""
}
