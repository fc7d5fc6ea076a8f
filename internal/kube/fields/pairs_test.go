package fields

import (
	"slices"
	"testing"
)

func TestItemsOfAListAreFoundInAnotherVersionOfIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		list, others string
		want         []int
	}{
		"by name, in another order": {`[{name: a}, {name: b}]`, `[{name: b}, {name: a, x: 1}]`, []int{1, 0}},
		"a new item":                {`[{name: a}, {name: b}]`, `[{name: b}]`, []int{-1, 0}},
		"an item of another name":   {`[{name: a, x: 1}]`, `[{name: b, x: 1}]`, []int{-1}},
		"by the group of a Ray worker": {`[{groupName: a}, {groupName: b}]`, `[{groupName: b}, {groupName: a}]`,
			[]int{1,
				0}},
		"by the key of a toleration": {`[{key: a, v: 1}]`, `[{key: b}, {key: a, v: 2}]`, []int{1}},
		"by the path of a mount": {`[{mountPath: /a, v: 1}]`, `[{mountPath: /b}, {mountPath: /a, v: 2}]`,
			[]int{1}},
		"by the port of a container": {`[{containerPort: 1, v: 1}]`, `[{containerPort: 2}, {containerPort: 1, v: 2}]`,
			[]int{1}},
		"by the port of a Service": {`[{port: 1, v: 1}]`, `[{port: 2}, {port: 1, v: 2}]`, []int{1}},
		"by the topology of a constraint": {`[{topologyKey: a, v: 1}]`, `[{topologyKey: b}, {topologyKey: a, v: 2}]`,
			[]int{1}},
		"by key where a name is missing": {`[{key: a, name: x}, {key: b}]`, `[{key: b}, {key: a}]`, []int{1, 0}},
		"by key where names are equal": {`[{key: a, name: x}, {key: b, name: x}]`,
			`[{key: b, name: x}, {key: a, name: x}]`, []int{1, 0}},
		"by content where keys are equal": {`[{key: a, e: 1}, {key: a, e: 2}]`, `[{key: a, e: 2}, {key: a, e: 1}]`,
			[]int{1, 0}},
		"by content where names are structs": {`[{name: {a: 1}}, {name: {a: 2}}]`, `[{name: {a: 2}}, {name: {a: 1}}]`,
			[]int{1, 0}},
		"texts":                          {`[a, b]`, `[b, c, a]`, []int{2, 0}},
		"a text that occurs twice":       {`[a]`, `[a, b, a]`, []int{-1}},
		"a text that occurred once":      {`[a, a]`, `[a]`, []int{-1, -1}},
		"an item with additions":         {`[{x: 1}]`, `[{y: 2}, {x: 1, z: 3}]`, []int{1}},
		"an item without additions":      {`[{x: 1, z: 3}, {y: 2}]`, `[{x: 1}]`, []int{0, -1}},
		"an equal item, not one of less": {`[{x: 1, z: 3}]`, `[{x: 1, z: 3}, {x: 2}]`, []int{0}},
		"an empty list":                  {`[{x: 1}]`, `[]`, []int{-1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := pair(listOf(t, test.list), document(t, "list: "+test.others)["list"].([]any))
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// listOf decodes a list as another decoder: its numbers are float64.
func listOf(t *testing.T, text string) []any {
	t.Helper()
	list, _ := fromYAML(t, "list: "+text)["list"].([]any)
	return list
}
