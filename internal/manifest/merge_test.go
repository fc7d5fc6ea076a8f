package manifest_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestMergeTemplate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ base, over, want string }{
		"merges maps deeply": {`{"a": {"b": 1, "c": 2}}`, `{"a": {"b": 3, "d": 4}}`,
			`{"a": {"b": 3, "c": 2, "d": 4}}`},
		"removes what is null":              {`{"a": {"b": 1, "c": 2}}`, `{"a": {"b": null}}`, `{"a": {"c": 2}}`},
		"drops a null that removes nothing": {`{}`, `{"a": {"b": null}, "c": [{"d": null}]}`, `{"a": {}, "c": [{}]}`},
		"replaces a scalar by a map":        {`{"a": 1}`, `{"a": {"b": 1}}`, `{"a": {"b": 1}}`},
		"replaces a map by a scalar":        {`{"a": {"b": 1}}`, `{"a": false}`, `{"a": false}`},
		"keeps an empty value": {`{"a": {"b": 1}}`, `{"c": "", "d": {}, "e": []}`, `{"a": {"b": 1}, "c": "", "d": {},
			"e": []}`},
		"replaces a list of scalars":       {`{"a": [1, 2]}`, `{"a": [3]}`, `{"a": [3]}`},
		"replaces a list of unnamed items": {`{"a": [{"key": "x"}]}`, `{"a": [{"key": "y"}]}`, `{"a": [{"key": "y"}]}`},
		"merges named items": {`{"a": [{"name": "x", "b": 1, "c": 2}]}`, `{"a": [{"name": "x", "b": 3}]}`,
			`{"a": [{"name": "x", "b": 3, "c": 2}]}`},
		"appends new items in order": {`{"a": [{"name": "x"}]}`, `{"a": [{"name": "z"}, {"name": "y"}]}`,
			`{"a": [{"name": "x"}, {"name": "z"}, {"name": "y"}]}`},
		"keeps the order of items": {`{"a": [{"name": "x"}, {"name": "y"}]}`, `{"a": [{"name": "y", "b": 1},
			{"name": "x", "b": 2}]}`, `{"a": [{"name": "x", "b": 2}, {"name": "y", "b": 1}]}`},
		"removes a field of a named item": {`{"a": [{"name": "x", "value": "1"}]}`, `{"a": [{"name": "x", "value": null,
			"from": {}}]}`, `{"a": [{"name": "x", "from": {}}]}`},
		"replaces if one new item has no name": {`{"a": [{"name": "x"}]}`, `{"a": [{"name": "y"}, {"b": 1}]}`,
			`{"a": [{"name": "y"}, {"b": 1}]}`},
		"replaces if one old item has no name": {`{"a": [{"name": "x"}, {"b": 1}]}`, `{"a": [{"name": "y"}]}`,
			`{"a": [{"name": "y"}]}`},
		"replaces if a name is there twice": {`{"a": [{"name": "x"}]}`, `{"a": [{"name": "y", "b": 1},
			{"name": "y", "b": 2}]}`, `{"a": [{"name": "y", "b": 1}, {"name": "y", "b": 2}]}`},
		"replaces by an empty list": {`{"a": [{"name": "x"}]}`, `{"a": []}`, `{"a": []}`},
		"names mounts by their path": {`{"a": [{"name": "v", "mountPath": "/1"}]}`,
			`{"a": [{"name": "v", "mountPath": "/2"}]}`, `{"a": [{"name": "v", "mountPath": "/1"},
			{"name": "v", "mountPath": "/2"}]}`},
		"merges mounts of the same path": {`{"a": [{"name": "v", "mountPath": "/1"}]}`,
			`{"a": [{"name": "w", "mountPath": "/1"}]}`, `{"a": [{"name": "w", "mountPath": "/1"}]}`},
		"takes a name that is no text for none": {`{"a": [{"name": 1}]}`, `{"a": [{"name": 1, "b": 2}]}`,
			`{"a": [{"name": 1, "b": 2}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := manifest.MergeTemplate(fromJSON(t, tc.base), fromJSON(t, tc.over))
			if diff := cmp.Diff(fromJSON(t, tc.want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMergeTemplateAcceptsEmptyArguments(t *testing.T) {
	t.Parallel()
	if got := manifest.MergeTemplate(nil, nil); got == nil || len(got) != 0 {
		t.Errorf("is %#v, want an empty map", got)
	}
}

func FuzzMergeTemplate(f *testing.F) {
	for _, seed := range [][2]string{
		{`{}`, `{}`},
		{`{"a": {"b": 1}}`, `{"a": {"b": null}}`},
		{`{"a": [{"name": "x", "b": 1}]}`, `{"a": [{"name": "x", "c": [null, {"d": null}]}, {"name": "y"}]}`},
		{`{"a": [{"name": "x", "mountPath": "/"}]}`, `{"a": [{"name": "x", "mountPath": "/y"},
			{"name": "x", "mountPath": "/z"}]}`},
		{`{"a": [{"name": "x"}]}`, `{"a": [{"name": "x", "mountPath": "/"}]}`},
		{`{"a": [{"name": "x"}, {"name": "y"}]}`, `{"a": [{"name": "x", "mountPath": "/"},
			{"name": "y", "mountPath": "/"}]}`},
		{`{"a": [[1]]}`, `{"a": [[{"b": null}]]}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, baseText, overText string) {
		var base, over map[string]any
		if json.Unmarshal([]byte(baseText), &base) != nil || json.Unmarshal([]byte(overText), &over) != nil {
			return
		}
		baseBefore, overBefore := toJSON(t, base), toJSON(t, over)
		merged := manifest.MergeTemplate(base, over)
		once := toJSON(t, merged)
		if twice := toJSON(t, manifest.MergeTemplate(merged, over)); twice != once {
			t.Errorf("merging %s into %s gives\n%s, and again\n%s", overText, baseText, once, twice)
		}
		scribble(merged)
		if toJSON(t, base) != baseBefore || toJSON(t, over) != overBefore {
			t.Errorf("the merge of %s into %s shares a part with them", overText, baseText)
		}
	})
}
