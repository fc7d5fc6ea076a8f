package compute

import "testing"

func TestFieldsOfAnIgnoredAttributeAreUnchanged(t *testing.T) {
	t.Parallel()
	const head = `"apiVersion":"v1","kind":"X","metadata":{"name":"x","namespace":"ml"`
	for name, c := range map[string]struct{ without, planned, prior, want string }{
		"a label that somebody changed on the object alone": {
			without: `,"labels":{"team":"ml"}},"spec":{"labels":{"team":"ml"},"size":2}`,
			planned: `,"labels":{"team":"web"}},"spec":{"labels":{"team":"web"},"size":2}`,
			prior:   `,"labels":{"team":"web"}},"spec":{"labels":{"team":"ml"},"size":1}`,
			want:    `,"labels":{"team":"web"}},"spec":{"labels":{"team":"ml"},"size":2}`,
		},
		"a variable that somebody added to one of two containers, beside a change of the configuration's": {
			without: `},"a":{"env":[{"name":"A","value":"1"},{"name":"L","value":"new"}]},"b":{"env":[{"name":"L","value":"new"}]}`,
			planned: `},"a":{"env":[{"name":"A","value":"2"},{"name":"N","value":"3"},{"name":"L","value":"new"}]},"b":{"env":[{"name":"N","value":"3"},{"name":"L","value":"new"}]}`,
			prior:   `},"a":{"env":[{"name":"A","value":"2"},{"name":"L","value":"old"},{"name":"N","value":"3"}]},"b":{"env":[{"name":"L","value":"old"}]}`,
			want:    `},"a":{"env":[{"name":"A","value":"2"},{"name":"L","value":"new"},{"name":"N","value":"3"}]},"b":{"env":[{"name":"L","value":"new"}]}`,
		},
		"a field that somebody removed": {
			without: `},"a":{"b":1},"c":{"b":1}`, planned: `},"a":{},"c":{}`, prior: `},"a":{},"c":{"b":1}`,
			want: `},"a":{},"c":{"b":1}`,
		},
		"lists without names": {
			without: `},"a":["x"],"b":["x"]`, planned: `},"a":["y"],"b":["y"]`, prior: `},"a":["y"],"b":["x"]`,
			want: `},"a":["y"],"b":["x"]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := func(rest string) *object { return &object{key: "X/ml/x", text: "{" + head + rest + "}"} }
			want := leaveObject(of(c.want), of(c.want), of(c.want))
			if got := leaveObject(of(c.without), of(c.planned), of(c.prior)); !got.same(want) {
				t.Errorf("got\n%s\nwant\n%s", got.text, want.text)
			}
		})
	}
}
