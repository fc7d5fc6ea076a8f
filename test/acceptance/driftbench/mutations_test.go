package driftbench_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/test/acctest/paths"
)

// A mutation is one change that another client makes to a live object.
type mutation struct {
	class string
	path  fieldpath.Path
	what  string // identifies the mutation, together with the path
	must  bool   // the plan must show it

	// variants are the objects to write; the first one that the server accepts is
	// used. parts are the bodies for a server-side apply of this change alone; nil if
	// only an update can make the change.
	variants []write
	parts    []write

	// shows are prefixes of the lines of the warning: path and verb, with MANAGER for
	// the field manager. also are prefixes of lines that may occur in addition.
	shows []string
	also  []string
	// removes is the removed field, for which the server may set a default.
	removes fieldpath.Path
	// leavesItem reports that the repair leaves an item with another key, which is a
	// foreign item.
	leavesItem bool
	// status writes into the status instead.
	status  bool
	deletes bool
}

// orderIrrelevant is the class of reorderings of lists with keys.
const orderIrrelevant = "list with irrelevant order reordered"

const unknownRemover = "removed (Kubernetes does not record who removes a field)"

func changed(path fieldpath.Path) string { return fields.String(path) + ": changed by MANAGER" }
func removed(path fieldpath.Path) string { return fields.String(path) + ": " + unknownRemover }

// mutations returns all mutations of a live object of which the provider owns these leaves. within tells which scalars
// inside an owned map or list are the provider's. The order is the same for every copy of a specimen.
func mutations(
	live map[string]any, leaves []fieldpath.Path, within func(fieldpath.Path, []any) bool, custom bool, seed uint64,
) []mutation {
	g := generator{live: live, within: within, custom: custom, random: rand.New(rand.NewPCG(seed, 2))}
	for _, path := range leaves {
		v, has := paths.At(live, path)
		if !has || slices.Contains([]string{"apiVersion", "kind"}, lastField(path)) {
			continue
		}
		g.path, g.value = path, v
		switch v := v.(type) {
		case map[string]any:
			g.wholeMap(v)
		case []any:
			g.wholeList(v)
		default:
			g.scalar(v)
		}
		g.takeover()
	}
	for _, path := range parents(leaves) {
		v, has := paths.At(live, path)
		if !has {
			continue
		}
		g.path, g.value = path, v
		g.structure(v)
	}
	g.foreign()
	return g.out
}

// write returns the object to send, or nil if the mutation is not possible.
type write func() map[string]any

// edit returns the live object with another value at path. The value may be a func() any.
func (g *generator) edit(path fieldpath.Path, to any) write {
	live := g.live
	return func() map[string]any {
		if lazy, ok := to.(func() any); ok {
			return paths.Edited(live, path, lazy())
		}
		return paths.Edited(live, path, to)
	}
}

func (g *generator) part(to any) write {
	live, path := g.live, g.path
	return func() map[string]any { return partial(live, path, to) }
}

func (g *generator) same() write {
	live := g.live
	return func() map[string]any { return live }
}

type generator struct {
	live   map[string]any
	within func(fieldpath.Path, []any) bool
	custom bool
	random *rand.Rand
	path   fieldpath.Path
	value  any
	out    []mutation
}

func (g *generator) add(m mutation) {
	if len(m.variants) > 0 || m.status || m.deletes {
		m.path = g.path
		// A repair that removes or renames a worker group leaves its pods, of which the plan warns.
		if lastField(g.path) == "workerGroupSpecs" && (m.class == "item added" ||
			strings.HasSuffix(m.what, "groupName")) {
			m.also = append(m.also, "Pods of a removed group keep running")
		}
		if m.what == "" {
			m.what = fields.String(g.path)
		} else {
			m.what = fields.String(g.path) + " " + m.what
		}
		g.out = append(g.out, m)
	}
}

func (g *generator) scalar(v any) {
	var parts, variants []write
	for _, other := range paths.Others(v) {
		variants = append(variants, g.edit(g.path, other))
		parts = append(parts, g.part(other))
	}
	m := mutation{class: "value changed", must: true, variants: variants, parts: parts,
		shows: []string{changed(g.path)}}
	if key, isKey := g.key(); isKey { // another key makes another item
		m.class, m.leavesItem, m.parts, m.shows = "item renamed", true, nil, []string{removed(key)}
		m.also = []string{fields.String(key)}
	}
	g.add(m)
	if _, isKey := g.key(); !isKey {
		m := mutation{
			class: "field removed", must: true, variants: []write{g.edit(g.path, nil)},
			shows:   []string{removed(g.path)},
			removes: g.path.Copy(),
		}
		if g.typedZero(fields.String(g.path), v) {
			m = mutation{class: "typed zero omitted", variants: m.variants}
		}
		g.add(m)
	}
	if text, ok := v.(string); ok && g.quantity() {
		if q, err := resource.ParseQuantity(text); err == nil && g.custom {
			for _, wording := range []any{fmt.Sprintf("%dm", q.MilliValue()), q.AsDec().String()} {
				if wording != v {
					g.add(mutation{class: "equal quantity in another notation", what: fmt.Sprint(wording),
						variants: []write{g.edit(g.path, wording)}})
				}
			}
		}
	}
}

func (g *generator) quantity() bool {
	if len(g.path) < 2 {
		return false
	}
	parent := lastField(g.path[:len(g.path)-1])
	return parent == "requests" || parent == "limits" || lastField(g.path) == "sizeLimit"
}

// key returns the path of the item that the field is a key of.
func (g *generator) key() (fieldpath.Path, bool) {
	owner := g.path[:len(g.path)-1]
	last := g.path[len(g.path)-1]
	if len(owner) == 0 || owner[len(owner)-1].Key == nil || last.FieldName == nil {
		return nil, false
	}
	for _, key := range *owner[len(owner)-1].Key {
		if key.Name == *last.FieldName {
			return owner, true
		}
	}
	return nil, false
}

// wholeMap changes an atomic map that the provider owns, or an empty struct.
func (g *generator) wholeMap(v map[string]any) {
	if len(v) == 0 {
		g.add(mutation{
			class: "empty struct removed", must: true, variants: []write{g.edit(g.path, nil)},
			shows: []string{removed(g.path)},
		})
		if lastField(g.path) == "emptyDir" {
			for _, inside := range []map[string]any{{"sizeLimit": "1Gi"}, {"medium": "Memory"}} {
				g.add(mutation{class: "foreign field in an empty struct", what: fmt.Sprint(inside),
					variants: []write{g.edit(g.path, inside)}})
			}
		}
		if lastField(g.path) == "securityContext" {
			g.add(mutation{class: "foreign field in an empty struct",
				variants: []write{g.edit(g.path, map[string]any{"runAsUser": int64(5)})}})
		}
		return
	}
	for _, at := range paths.Scalars(v, nil) {
		g.deep(v, at)
	}
	more := paths.Inside(v, []any{"example.com/more"}, func(in, last any) any {
		in.(map[string]any)[last.(string)] = "x"
		return in
	})
	g.add(mutation{class: "entry added to an owned map", must: true, variants: []write{g.edit(g.path, more)},
		shows: []string{changed(g.path)}})
}

// deep changes and removes one scalar inside an atomic value that the provider owns.
func (g *generator) deep(v any, where []any) {
	if !g.within(g.path, where) {
		return // a default that the server set
	}
	was := paths.Step(v, where)
	var variants []write
	for _, other := range paths.Others(was) {
		variants = append(variants, g.edit(g.path, func() any {
			return paths.Inside(v, where, func(in, last any) any {
				switch in := in.(type) {
				case map[string]any:
					in[last.(string)] = other
				case []any:
					in[last.(int)] = other
				}
				return in
			})
		}))
	}
	g.add(mutation{class: "value changed in an atomic value", what: stepsText(where), must: true,
		variants: variants, shows: []string{changed(g.path)}})
	if _, field := where[len(where)-1].(string); field && len(where) > 1 {
		without := func() any {
			return paths.Inside(v, where, func(in, last any) any {
				delete(in.(map[string]any), last.(string))
				return in
			})
		}
		m := mutation{
			class: "field removed in an atomic value", what: stepsText(where), must: true,
			variants: []write{g.edit(g.path, without)}, shows: []string{changed(g.path)},
		}
		if g.typedZero(stepsText(where), was) {
			m = mutation{class: "typed zero omitted", what: stepsText(where), variants: m.variants}
		}
		g.add(m)
	}
}

// typedZero reports whether v is a zero in a custom resource that typed clients
// omit from pod templates, so that its removal is not a change. The specimens
// contain only this one.
func (g *generator) typedZero(path string, v any) bool {
	return g.custom && strings.HasSuffix(path, "initialDelaySeconds") && fields.Empty(v)
}

// wholeList changes a list whose items have no keys.
func (g *generator) wholeList(v []any) {
	places := paths.Scalars(v, nil)
	g.random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	for _, at := range places[:min(len(places), 24)] {
		g.deep(v, at)
	}
	one := func(class string, to []any) {
		g.add(mutation{class: class, must: true, variants: []write{g.edit(g.path, to)},
			shows: []string{changed(g.path)}})
	}
	if len(v) > 1 {
		reordered := slices.Clone(v)
		slices.Reverse(reordered)
		one("list reordered", reordered)
		one("item removed", v[1:])
	}
	if len(v) > 0 && isScalar(v[0]) {
		one("item added", append(slices.Clone(v), "NET_ADMIN"))
	} else if len(v) > 0 {
		copied := paths.Inside(v[0], []any{"name"}, func(in, _ any) any {
			for _, name := range []string{"name", "groupName", "key", "ip"} {
				if is, ok := in.(map[string]any)[name].(string); ok {
					in.(map[string]any)[name] = map[bool]string{true: "10.0.0.7", false: is + "-more"}[name == "ip"]
				}
			}
			return in
		})
		one("item added", append(slices.Clone(v), copied))
		g.inItems(v)
	}
}

// inItems adds foreign fields to the items of an atomic list that the provider owns.
func (g *generator) inItems(v []any) {
	for i := range v {
		group, ok := v[i].(map[string]any)
		if !ok || group["template"] == nil {
			continue
		}
		more := paths.Inside(v, []any{i, "template", "metadata"}, func(in, _ any) any {
			template := in.(map[string]any)
			meta, _ := template["metadata"].(map[string]any)
			if meta == nil {
				meta = map[string]any{}
				template["metadata"] = meta
			}
			labels, _ := meta["labels"].(map[string]any)
			if labels == nil {
				labels = map[string]any{}
				meta["labels"] = labels
			}
			labels["example.com/queue"] = "x"
			return template
		})
		g.add(mutation{class: "foreign label in an owned item", what: fmt.Sprint(i),
			variants: []write{g.edit(g.path, more)}})
		more = paths.Inside(v, []any{i, "template", "spec", "schedulingGates"}, func(in, last any) any {
			in.(map[string]any)[last.(string)] = []any{map[string]any{"name": "example.com/gate"}}
			return in
		})
		g.add(mutation{class: "foreign field in an owned item", what: fmt.Sprint(i),
			variants: []write{g.edit(g.path, more)}})
	}
}

// takeover makes another manager own the field too, with the same value.
func (g *generator) takeover() {
	if isScalar(g.value) && len(g.path) > 1 {
		g.add(mutation{
			class: "also owned by another manager", variants: []write{g.same()}, parts: []write{g.part(g.value)},
		})
	}
}
