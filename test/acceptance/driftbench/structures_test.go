package driftbench_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/test/acctest/paths"
)

// structure changes a struct, list or list item that contains fields of the provider.
func (g *generator) structure(v any) {
	switch v := v.(type) {
	case []any:
		g.keyedList(v)
	case map[string]any:
		if last := g.path[len(g.path)-1]; last.Key != nil {
			g.add(mutation{
				class: "item removed", must: true, variants: []write{g.edit(g.path, nil)},
				shows: []string{removed(g.path)},
				also:  []string{fields.String(g.path)},
			})
		}
		g.unions(v)
		g.openMap()
	}
}

func (g *generator) keyedList(v []any) {
	name := lastField(g.path)
	if len(v) > 1 {
		reordered := slices.Clone(v)
		slices.Reverse(reordered)
		m := mutation{class: orderIrrelevant, variants: []write{g.edit(g.path, reordered)}}
		if name == "initContainers" {
			m.class, m.must = "list with relevant order reordered", true
			m.shows = []string{fields.String(g.path) + ": reordered (Kubernetes does not record who moves list items)"}
		}
		g.add(m)
	}
	more := map[string]map[string]any{
		"env":            {"name": "FOREIGN", "value": "1"},
		"containers":     {"name": "sidecar", "image": "sidecar:1"},
		"initContainers": {"name": "mesh", "image": "mesh:1"},
		"volumes":        {"name": "injected", "emptyDir": map[string]any{}},
		"volumeMounts":   {"name": "scratch", "mountPath": "/foreign"},
		"ports":          {"name": "foreign", "containerPort": int64(9), "protocol": "TCP"},
	}[name]
	if name == "ports" && len(g.path) == 2 {
		more = map[string]any{"name": "foreign", "port": int64(9), "protocol": "TCP"}
	}
	if more != nil {
		for where, list := range [][]any{append(slices.Clone(v), more), append([]any{more}, v...)} {
			g.add(mutation{class: "foreign item", what: []string{"last", "first"}[where],
				variants: []write{g.edit(g.path, list)}})
		}
	}
}

// unions replaces the provider's member of a union, or adds a second member.
func (g *generator) unions(v map[string]any) {
	last := g.path[len(g.path)-1]
	name := lastField(g.path)
	item := last.Key != nil
	members := map[string]any{}
	switch {
	case item && name == "volumes":
		members = map[string]any{"hostPath": map[string]any{"path": "/etc"},
			"secret": map[string]any{"secretName": "x"}, "emptyDir": map[string]any{}}
	case item && name == "env":
		members = map[string]any{
			"value":     "plain",
			"valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "token", "key": "TOKEN"}},
		}
	case name == "valueFrom":
		members = map[string]any{"configMapKeyRef": map[string]any{"name": "settings", "key": "k"},
			"fieldRef": map[string]any{"fieldPath": "metadata.name"}}
	case slices.Contains([]string{"livenessProbe", "readinessProbe", "startupProbe", "preStop"}, name):
		members = map[string]any{
			"exec": map[string]any{"command": []any{"true"}}, "tcpSocket": map[string]any{"port": int64(1)},
			"httpGet": map[string]any{"port": int64(1), "path": "/x"},
		}
	}
	own := slices.DeleteFunc(slices.Sorted(maps.Keys(v)), func(key string) bool {
		_, member := members[key]
		return !member && !(name == "volumes" && item && key != "name") && name != "valueFrom"
	})
	for _, other := range slices.Sorted(maps.Keys(members)) {
		if slices.Contains(own, other) || len(own) != 1 {
			continue
		}
		added := fields.String(extended(g.path, other)) + ": added by MANAGER"
		beside := maps.Clone(v)
		beside[other] = members[other]
		instead := maps.Clone(beside)
		delete(instead, own[0])
		ours := fields.String(extended(g.path, own[0]))
		g.add(mutation{
			class: "member of a union replaced", what: other, must: true, variants: []write{g.edit(g.path, instead)},
			shows: []string{ours, added}, also: []string{ours},
		})
		if g.custom {
			g.add(mutation{
				class: "second member of a union", what: other, must: true, variants: []write{g.edit(g.path, beside)},
				shows: []string{added},
			})
		}
	}
}

// openMap adds to a map that other clients may extend.
func (g *generator) openMap() {
	name := lastField(g.path)
	switch {
	case name == "labels" || name == "annotations":
		g.add(mutation{class: "foreign " + strings.TrimSuffix(name, "s"),
			variants: []write{g.edit(extended(g.path, "example.com/foreign"), "x")}})
	case name == "requests" || name == "limits":
		g.add(mutation{class: "foreign resource",
			variants: []write{g.edit(extended(g.path, "example.com/widget"), "1")}})
	case slices.Contains([]string{"livenessProbe", "readinessProbe", "startupProbe"}, name):
		g.add(mutation{class: "foreign field",
			variants: []write{g.edit(extended(g.path, "terminationGracePeriodSeconds"), int64(9))}})
	case name == "containers" && g.path[len(g.path)-1].Key != nil:
		g.add(mutation{class: "foreign field", variants: []write{
			g.edit(extended(g.path, "terminationMessagePath"), "/dev/other"), g.edit(extended(g.path, "stdin"), true),
		}})
	case name == "spec" && len(g.path) > 1:
		g.add(mutation{class: "foreign field", variants: []write{
			g.edit(extended(g.path, "enableServiceLinks"), false), g.edit(extended(g.path, "hostname"), "x"),
		}})
		g.add(mutation{class: "foreign field", what: "priorityClassName",
			variants: []write{g.edit(extended(g.path, "schedulerName"), "other")}})
	case name == "spec":
		g.add(mutation{class: "foreign field", variants: []write{
			g.edit(extended(g.path, "revisionHistoryLimit"), int64(3)),
			g.edit(extended(g.path, "ttlSecondsAfterFinished"), int64(90000)),
			g.edit(extended(g.path, "successfulJobsHistoryLimit"), int64(7)),
			g.edit(extended(g.path, "sessionAffinity"), "ClientIP"),
			g.edit(extended(g.path, "suspend"), false),
		}})
	}
}

// foreign makes changes to the object that do not concern the provider's fields,
// and deletes it.
func (g *generator) foreign() {
	g.path = fieldpath.Path{}
	meta := extended(nil, "metadata")
	g.add(mutation{class: "finalizer", what: "finalizers",
		variants: []write{g.edit(extended(meta, "finalizers"), []any{"example.com/hold"})}})
	for i := range 3 {
		name := fmt.Sprintf("example.com/foreign-%d", i)
		for _, field := range []string{"labels", "annotations"} {
			in, _ := paths.At(g.live, extended(meta, field))
			m, _ := in.(map[string]any)
			more := maps.Clone(m)
			if more == nil {
				more = map[string]any{}
			}
			more[name] = "x"
			g.add(mutation{class: "foreign " + strings.TrimSuffix(field, "s"), what: name,
				variants: []write{g.edit(extended(meta, field), more)}})
		}
	}
	if g.custom {
		g.add(mutation{class: "status", what: "status", status: true})
	}
	if kind := g.live["kind"]; kind == "KubetorchWorkload" || kind == "Service" && g.live["apiVersion"] == "v1" {
		g.add(mutation{class: "object deleted", what: "object", must: true, deletes: true})
	}
}
