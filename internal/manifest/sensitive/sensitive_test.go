package sensitive

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

func TestParsePathRejects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                    "is empty",
		".spec":               "must begin with a name",
		"spec..args":          "does not begin with a name",
		"spec.":               "does not begin with a name",
		"spec.a b":            `write ["NAME"]`,
		"spec.'a'":            `write ["NAME"]`,
		"spec.args]":          `write ["NAME"]`,
		"args[0]x":            "continue with . or [",
		"args[":               `["NAME"], [0] or [*]`,
		"args[0":              `["NAME"], [0] or [*]`,
		"args[-1]":            `["NAME"], [0] or [*]`,
		"args[main]":          `["NAME"], [0] or [*]`,
		"args[`main`]":        `["NAME"], [0] or [*]`,
		`args["main"`:         "no closing ]",
		`args["main"x]`:       "no closing ]",
		"args[9999999999999]": `["NAME"], [0] or [*]`,
	} {
		if path, err := ParsePath(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want an error with %q", text, path, err, want)
		}
	}
}

const example = `{
	"apiVersion": "apps/v1", "kind": "Deployment",
	"metadata": {"name": "web", "namespace": "ml", "annotations": {"a.b/c": "note", "x": "other"}},
	"spec": {"replicas": 3, "ratio": 1.5, "paused": true, "empty": {}, "none": null, "containers": [
		{"name": "main", "args": ["--token", "s3cret"]},
		{"name": "sidecar", "args": ["--quiet"], "env": [{"name": "A", "value": ""}]}
	]}
}`

func decoded(t testing.TB, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := k8sjson.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func parsed(t testing.TB, texts ...string) []Path {
	t.Helper()
	var paths []Path
	for _, text := range texts {
		path, err := ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func TestHideSelectsTheValuesAtAPath(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"spec.replicas":                           {"/spec/replicas"},
		"spec.ratio":                              {"/spec/ratio"},
		"spec.paused":                             {"/spec/paused"},
		"spec.containers[0].args[1]":              {"/spec/containers/0/args/1"},
		`spec.containers["main"].args`:            {"/spec/containers/0/args/0", "/spec/containers/0/args/1"},
		"spec.containers[*].args[0]":              {"/spec/containers/0/args/0", "/spec/containers/1/args/0"},
		`metadata.annotations["a.b/c"]`:           {"/metadata/annotations/a.b~1c"},
		"metadata.annotations[*]":                 {"/metadata/annotations/a.b~1c", "/metadata/annotations/x"},
		"metadata":                                {"/metadata/annotations/a.b~1c", "/metadata/annotations/x"},
		`spec.containers["sidecar"].env["A"]`:     {"/spec/containers/1/env/0/name", "/spec/containers/1/env/0/value"},
		"metadata.name":                           nil,
		"kind":                                    nil,
		"spec.empty":                              nil,
		"spec.none":                               nil,
		"spec.replicas.more":                      nil,
		"spec.containers[2]":                      nil,
		`spec.containers["other"]`:                nil,
		"spec.replicas[*]":                        nil,
		`spec.containers["main"].args["--token"]`: nil,
	} {
		object := decoded(t, example)
		hidden, matched, err := Hide(object, parsed(t, text), nil)
		got := slices.Sorted(maps.Keys(hidden))
		if !slices.Equal(got, want) || (len(matched) == 1) != (len(want) > 0) || err != nil {
			t.Errorf("%s: hides %q, matched %v, %v; want %q", text, got, matched, err, want)
		}
		if err := Show(object, hidden); err != nil || !reflect.DeepEqual(object, decoded(t, example)) {
			t.Errorf("%s: shown again, %v: %v", text, err, object)
		}
	}
}

func TestHideCountsTheChangesOfAValue(t *testing.T) {
	t.Parallel()
	paths := parsed(t, "spec.args[*]")
	var hidden Values
	for _, step := range []struct{ args, want string }{
		{`["a", "b"]`, `["(sensitive 1)","(sensitive 1)"]`},
		{`["a", "c"]`, `["(sensitive 1)","(sensitive 2)"]`},
		{`["a", "c", "d"]`, `["(sensitive 1)","(sensitive 2)","(sensitive 1)"]`},
		{`["(sensitive 1)", "<&>"]`, `["(sensitive 2)","(sensitive 3)"]`},
		{`["(sensitive 1)", "<&>"]`, `["(sensitive 2)","(sensitive 3)"]`},
		{`[1, "<&>"]`, `["(sensitive 3)","(sensitive 3)"]`},
	} {
		object := decoded(t, `{"spec": {"args": `+step.args+`}}`)
		hidden, _, _ = Hide(object, paths, hidden)
		spec, _ := object["spec"].(map[string]any)
		if got, err := json.Marshal(spec["args"]); err != nil || string(got) != step.want {
			t.Errorf("%s: %s, %v; want %s", step.args, got, err, step.want)
		}
		stored, err := json.Marshal(hidden) // as in state
		hidden = nil
		if err == nil {
			err = json.Unmarshal(stored, &hidden)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoPathsOfTheSameValueBothMatch(t *testing.T) {
	t.Parallel()
	object := decoded(t, example)
	paths := parsed(t, "spec.containers[*]", "spec.other", `spec.containers["main"].args`)
	hidden, matched, err := Hide(object, paths, nil)
	if err != nil || !slices.Equal(matched, []int{0, 2}) {
		t.Errorf("matched %v, %v", matched, err)
	}
	if err := Show(object, hidden); err != nil || !reflect.DeepEqual(object, decoded(t, example)) {
		t.Errorf("shown again, %v: %v", err, object)
	}
}

func TestShowRejectsValuesOfAnotherObject(t *testing.T) {
	t.Parallel()
	for pointer, value := range map[string]string{"spec": `"x"`, "/spec/containers/7": `"x"`, "/spec/replicas": "{"} {
		if err := Show(decoded(t, example), Values{pointer: {JSON: json.RawMessage(value)}}); err == nil {
			t.Errorf("%s = %s is set", pointer, value)
		}
	}
}

func TestSelects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`data["Dockerfile"]`: true, "data": true, "data[*]": true,
		"data.other": false, "data.Dockerfile.more": false, "data[0]": false, "[*]": true,
	} {
		if got := Selects(parsed(t, "spec", text), "data", "Dockerfile"); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	if Selects(nil, "data") {
		t.Error("no path selects a field")
	}
}

func FuzzHide(f *testing.F) {
	for _, path := range []string{"spec", `spec.containers["main"].args[1]`, `metadata.annotations["a.b/c"]`, "[*]",
		"spec.containers[*].env[0]"} {
		f.Add(path, example)
	}
	f.Fuzz(func(t *testing.T, text, document string) {
		path, err := ParsePath(text)
		var before, object map[string]any
		if err != nil || k8sjson.Unmarshal([]byte(document), &before) != nil ||
			k8sjson.Unmarshal([]byte(document), &object) != nil {
			return
		}
		hidden, _, err := Hide(object, []Path{path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(hidden) > 0 == reflect.DeepEqual(object, before) && !strings.Contains(document, "(sensitive ") {
			t.Errorf("%s: %d values are hidden in %v", text, len(hidden), object)
		}
		if err := Show(object, hidden); err != nil || !reflect.DeepEqual(object, before) {
			t.Errorf("%s: %v\n%v\n%v", text, err, before, object)
		}
	})
}
