package fields

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Some structs of the pod template are unions, of which at most one member can be set: the source of a volume, the
// handler of a probe, value and valueFrom of an environment variable
// (https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/). Server-side apply ignores this: it
// keeps a member that another client wrote next to ours. Built-in kinds then reject the object. Custom resources that
// contain a pod template keep both members.

// unionMember returns a function that reports whether a key is a member of a union, of which at most one can be set.
// field is the name of the struct, or of the list that it is an item of. The result is nil if the struct is not a
// union.
func unionMember(field string) func(key string) bool {
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

// foreignMembers returns the members of a union that live has in addition to, or instead of, the wanted one.
func foreignMembers(field string, wanted, live map[string]any) []string {
	member := unionMember(field)
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

// Union is a struct of which a live object has members that conflict with ours.
type Union struct {
	// Path is the position of the struct in the live object: names and indexes.
	Path []string
	// Struct is the content that it is supposed to have.
	Struct map[string]any
}

// MixedUnions returns the unions of wanted that have other members in live. List items are identified by name. Lists
// without names are ignored, because they are atomic.
func MixedUnions(wanted, live map[string]any) []Union {
	return mixed("", wanted, live, nil)
}

func mixed(field string, wanted, live any, at []string) []Union {
	var out []Union
	switch want := wanted.(type) {
	case map[string]any:
		is, ok := live.(map[string]any)
		if !ok {
			return nil
		}
		if len(foreignMembers(field, want, is)) > 0 {
			return []Union{{Path: slices.Clone(at), Struct: runtime.DeepCopyJSON(want)}}
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			out = append(out, mixed(key, want[key], is[key], append(at, key))...)
		}
	case []any:
		is, _ := live.([]any)
		for _, item := range want {
			if i := kind.IndexNamed(is, kind.TextAt(item, "name")); i >= 0 {
				out = append(out, mixed(field, item, is[i], append(at, strconv.Itoa(i)))...)
			}
		}
	}
	return out
}

// foreignUnionMembers reports the members of unions that others have set in addition to, or instead of, ours. The
// document never shows what others wrote. It lacks our member.
func (a Applied) foreignUnionMembers(doc map[string]any, live *unstructured.Unstructured) (map[string]any, []Change) {
	var changes []Change
	eachStruct(nil, a.Set, func(path fieldpath.Path, _ *fieldpath.Set) {
		field := locationOf(path, a.Shared).field
		if unionMember(field) == nil {
			return
		}
		was, _ := lookup(a.Object, path)
		now, _ := lookup(live.Object, path)
		wanted, _ := was.(map[string]any)
		is, _ := now.(map[string]any)
		others := foreignMembers(field, wanted, is)
		for _, key := range others {
			at := append(path.Copy(), fieldpath.FieldNameElement(key))
			changes = append(changes, Change{Path: String(at), Added: true, path: at})
		}
		if len(others) == 0 {
			return
		}
		for key := range wanted {
			if unionMember(field)(key) {
				doc, _ = remove(doc, append(path.Copy(), fieldpath.FieldNameElement(key))).(map[string]any)
			}
		}
	})
	return doc, changes
}

// eachStruct calls visit for every map, list and list item that has children in the set below prefix, with these
// children.
func eachStruct(prefix fieldpath.Path, set *fieldpath.Set, visit func(fieldpath.Path, *fieldpath.Set)) {
	for _, pe := range slices.Collect(set.Children.All()) {
		if child, ok := set.Children.Get(pe); ok {
			path := slices.Concat(prefix, fieldpath.Path{pe})
			visit(path, child)
			eachStruct(path, child, visit)
		}
	}
}
