package broken

import "testing"

func TestFaultWhoseTextIsGoneIsAnError(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"once":  {"a := 1\n", "a := 2\n"},
		"gone":  {"b := 1\n", ""},
		"twice": {"a := 1\na := 1\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Replacement{File: "x.go", Old: "a := 1", New: "a := 2"}.apply(c.source)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
