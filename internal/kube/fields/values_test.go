package fields

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
	"sigs.k8s.io/yaml"
)

// pathTo returns the path of FieldsV1 that ends at a member.
func pathTo(t *testing.T, set string) fieldpath.Path {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(set))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	all := Paths(parsed)
	if len(all) != 1 {
		t.Fatalf("%v", all)
	}
	return all[0]
}

func TestPathsLeadToValues(t *testing.T) {
	t.Parallel()
	const doc = `{replicas: 1, labels: {a.b/c: x}, finalizers: [a, b], args: [[1], 2],
        ports: [{name: x}, {port: 53, name: tcp}, {port: 53, protocol: UDP}, {port: 80, protocol: TCP}, 5]}`
	for name, test := range map[string]struct {
		set   string
		path  string // as a user reads it
		want  any    // nil for none
		after string // after its removal
		put   string // after it is set to 9
	}{
		"a field": {`{f:replicas: {}}`, "replicas", int64(1), `{}`, `{replicas: 9}`},
		"a field of a map": {`{f:labels: {f:a.b/c: {}}}`, `labels["a.b/c"]`, "x", `{labels: {}}`,
			`{labels: {a.b/c: 9}}`},
		"a missing field": {`{f:labels: {f:d: {}}}`, `labels.d`, nil, `{labels: {a.b/c: x}}`,
			`{labels: {a.b/c: x, d: 9}}`},
		"a field of a missing map": {`{f:none: {f:d: {}}}`, `none.d`, nil, `{}`, `{none: {d: 9}}`},
		"a field of a number": {`{f:replicas: {f:d: {}}}`, `replicas.d`, nil, `{replicas: 1}`,
			`{replicas: {d: 9}}`},
		"an item of a set": {`{f:finalizers: {'v:"b"': {}}}`, `finalizers[b]`, "b", `{finalizers: [a]}`,
			`{finalizers: [a, 9]}`},
		"a missing item of a set": {`{f:finalizers: {'v:"c"': {}}}`, `finalizers[c]`, nil, `{finalizers: [a, b]}`,
			`{finalizers: [a, b, 9]}`},
		"a field of an item": {`{f:ports: {'k:{"port":80,"protocol":"TCP"}': {f:port: {}}}}`,
			`ports[port=80,protocol=TCP].port`, int64(80),
			`{ports: [{name: x}, {port: 53, name: tcp}, {port: 53, protocol: UDP},
            {protocol: TCP}, 5]}`, `{ports: [{name: x}, {port: 53, name: tcp}, {port: 53, protocol: UDP}, {port: 9,
	protocol: TCP}, 5]}`},
		"a field of an item without a defaulted key": {`{f:ports: {'k:{"port":53,"protocol":"TCP"}': {f:name: {}}}}`,
			`ports[port=53,protocol=TCP].name`, "tcp",
			`{ports: [{name: x}, {port: 53}, {port: 53, protocol: UDP}, {port: 80, protocol: TCP}, 5]}`,
			`{ports: [{name: x}, {port: 53, name: 9}, {port: 53, protocol: UDP}, {port: 80, protocol: TCP}, 5]}`},
		"an item by one of two keys": {`{f:ports: {'k:{"port":53,"protocol":"UDP"}': {f:protocol: {}}}}`,
			`ports[port=53,protocol=UDP].protocol`, "UDP",
			`{ports: [{name: x}, {port: 53, name: tcp}, {port: 53}, {port: 80, protocol: TCP}, 5]}`,
			`{ports: [{name: x}, {port: 53, name: tcp}, {port: 53, protocol: 9}, {port: 80, protocol: TCP}, 5]}`},
		"a missing item": {`{f:ports: {'k:{"port":81,"protocol":"TCP"}': {f:name: {}}}}`,
			`ports[port=81,protocol=TCP].name`, nil, doc,
			`{ports: [{name: x}, {port: 53, name: tcp}, {port: 53, protocol: UDP},
            {port: 80, protocol: TCP}, 5, {name: 9}]}`},
		"an item by its name": {`{f:ports: {'k:{"name":"tcp"}': {f:port: {}}}}`, `ports["tcp"].port`, int64(53),
			`{ports: [{name: x}, {name: tcp}, {port: 53, protocol: UDP}, {port: 80, protocol: TCP}, 5]}`,
			`{ports: [{name: x}, {port: 9, name: tcp}, {port: 53, protocol: UDP}, {port: 80, protocol: TCP}, 5]}`},
		"an item of a map": {`{f:labels: {'k:{"name":"tcp"}': {f:port: {}}}}`, `labels["tcp"].port`, nil, doc,
			`{labels: [{port: 9}]}`},
		"an item of a map, itself": {`{f:labels: {'k:{"name":"tcp"}': {}}}`, `labels["tcp"]`, nil, doc,
			`{labels: [9]}`},
		"an item by index":  {`{f:args: {'i:1': {}}}`, `args[1]`, nil, doc, `{args: [[1], 2, 9]}`},
		"a field of a list": {`{f:args: {f:a: {}}}`, `args.a`, nil, doc, `{args: {a: 9}}`},
		"an item by a number": {`{f:ports: {'k:{"port":80}': {f:protocol: {}}}}`, `ports[port=80].protocol`, "TCP",
			`{ports: [{name: x}, {port: 53, name: tcp}, {port: 53, protocol: UDP}, {port: 80}, 5]}`,
			`{ports: [{name: x}, {port: 53, name: tcp}, {port: 53, protocol: UDP}, {port: 80, protocol: 9}, 5]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := pathTo(t, test.set)
			if got := String(path); got != test.path {
				t.Errorf("formatted as %s, want %s", got, test.path)
			}
			object := document(t, doc)
			if got, has := lookup(object, path); !cmp.Equal(got, test.want) || has != (test.want != nil) {
				t.Errorf("got %v, %t; want %v", got, has, test.want)
			}
			complete := func(part string) map[string]any { // the other fields stay as they are
				out, first := document(t, doc), *path[0].FieldName
				delete(out, first)
				for field, value := range document(t, part) {
					if field == first {
						out[field] = value
					}
				}
				return out
			}
			if diff := cmp.Diff(complete(test.after), remove(document(t, doc), path)); diff != "" {
				t.Errorf("removed:\n%s", diff)
			}
			if diff := cmp.Diff(complete(test.put), set(object, path, int64(9))); diff != "" {
				t.Errorf("set:\n%s", diff)
			}
		})
	}
}

func TestEmptyValuesAreThoseThatAnObjectOmits(t *testing.T) {
	t.Parallel()
	for _, v := range []any{nil, "", int64(0), 0.0, false, []any{}, map[string]any{}} {
		if !Empty(v) {
			t.Errorf("%#v is not empty", v)
		}
	}
	for _, v := range []any{"x", int64(1), 0.5, true, []any{nil}, map[string]any{"a": nil}} {
		if Empty(v) {
			t.Errorf("%#v is empty", v)
		}
	}
}

func TestNumbersAreComparedByValue(t *testing.T) {
	t.Parallel()
	ours := map[string]any{"a": []any{int64(1), map[string]any{"b": int64(2)}}}
	theirs := map[string]any{"a": []any{1.0, map[string]any{"b": 2.0}}}
	if !equal(ours, theirs) || equal(ours, map[string]any{"a": []any{1.0, map[string]any{"b": 3.0}}}) || equal("1",
		1.0) {
		t.Error("numbers of two decoders differ, or different ones are equal")
	}
	if path := fieldpath.MakePathOrDie("a", "b"); String(path) != "a.b" {
		t.Errorf("formatted as %s", String(path))
	}
	if path := (fieldpath.Path{{Value: new(value.NewValueInterface(1.5))}}); String(path) != "[1.5]" {
		t.Errorf("formatted as %s", String(path))
	}
}

func TestQuantitiesAreComparedByTheirAmount(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b any
		want bool
	}{
		{"1000m", "1", true}, {"1", int64(1), true}, {"1Gi", "1G", false}, {"0", "many", false}, {"many", "0", false},
		{"many", "more", false}, {map[string]any{}, "0", false}, {"0", []any{}, false},
	} {
		if got := sameQuantity(test.a, test.b); got != test.want {
			t.Errorf("%v and %v: %t, want %t", test.a, test.b, got, test.want)
		}
	}
	for field, want := range map[string]bool{
		"resources.requests.cpu": true, "resources.limits.cpu": true, "minResources.cpu": true, "capacity.cpu": true,
		"overhead.cpu": true, "emptyDir.sizeLimit": true, "resourceFieldRef.divisor": true, "labels.cpu": false,
		"emptyDir.path": false, "emptyDir.divisor": false, "spec.limits.version": false, "data.sizeLimit": false,
	} {
		at := location{}
		for name := range strings.SplitSeq(field, ".") {
			at = at.at(name)
		}
		if at.quantity != want {
			t.Errorf("%s is a quantity: %t, want %t", field, at.quantity, want)
		}
	}
}
