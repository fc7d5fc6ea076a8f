package manifest_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestParseDocumentReadsYAMLAndJSONAlike(t *testing.T) {
	t.Parallel()
	want := map[string]any{"kind": "Job", "spec": map[string]any{"parallelism": int64(3), "share": 0.5,
		"items": []any{int64(1), "1"}}}
	for name, text := range map[string]string{
		"YAML": "kind: Job\nspec:\n  parallelism: 3\n  share: 0.5\n  items: [1, '1']\n",
		"JSON": `{"kind": "Job", "spec": {"parallelism": 3, "share": 0.5, "items": [1, "1"]}}`,
		"a leading document": "# our job\n---\nkind: Job\nspec: {parallelism: 3, share: 0.5, items: [1, " +
			"'1']}\n---\n# the end\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := manifest.ParseDocument(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseDocumentReportsTheProblem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, says string }{
		"nothing":       {"", "contains no object"},
		"a list":        {"- a\n- b\n", "contains no object"},
		"a word":        {"Job", "contains no object"},
		"no YAML":       {"kind: [", "is not valid YAML"},
		"a field twice": {"kind: Job\nkind: Pod\n", "already set"},
		"two documents": {"kind: Job\n---\nkind: Pod\n", "more than one YAML document"},
		"a tab":         {"spec:\n\treplicas: 1\n", "is not valid YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := manifest.ParseDocument(c.text); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want an error that says: %s", err, c.says)
			}
		})
	}
}

func FuzzParseDocument(f *testing.F) {
	f.Add("kind: Job\nspec: {a: [1, 2.5, null]}\n")
	f.Add(`{"a": 1e999}`)
	f.Fuzz(func(t *testing.T, text string) {
		object, err := manifest.ParseDocument(text)
		if (object == nil) == (err == nil) {
			t.Fatalf("object %v, error %v", object, err)
		}
		if err != nil {
			return
		}
		asJSON, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := manifest.ParseDocument(string(asJSON)); err != nil || !reflect.DeepEqual(again, object) {
			t.Errorf("%s is read as %v, %v; want %v", asJSON, again, err, object)
		}
	})
}
