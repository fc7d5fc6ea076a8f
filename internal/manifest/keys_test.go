package manifest_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Kubernetes expands $(NAME) in a value only if NAME is defined before it.
func TestVariablesComeAfterThoseToWhichTheyRefer(t *testing.T) {
	t.Parallel()
	key := []manifest.SecretRef{{Name: "db", EnvVars: []string{"PASSWORD"}}}
	for name, c := range map[string]struct {
		variables map[string]string
		keys      []manifest.SecretRef
		want      string
	}{
		"by name":                  {map[string]string{"B": "1", "A": "$B"}, key, "A B PASSWORD"},
		"a reference":              {map[string]string{"A": "$(C)/x", "B": "1", "C": "2"}, key, "C A B PASSWORD"},
		"a chain":                  {map[string]string{"A": "$(B)", "B": "x$(C)", "C": "2"}, nil, "C B A"},
		"a circle":                 {map[string]string{"A": "$(B)", "B": "$(A)"}, nil, "B A"},
		"itself":                   {map[string]string{"A": "$(A)"}, nil, "A"},
		"another one of the image": {map[string]string{"A": "$(PATH):/a", "B": "1"}, key, "A B PASSWORD"},
		"a key": {map[string]string{"A": "$(B)", "B": "postgres://u:$(PASSWORD)@db", "C": "1"}, key,
			"PASSWORD B A C"},
	} {
		objects := render(t, manifest.Compute{Name: "a", Namespace: "ml", Image: "a:1", Command: []string{"run"},
			EnvVars: c.variables, Secrets: c.keys,
			Sidecars: []manifest.Container{{Name: "proxy", Image: "p:1", EnvVars: c.variables}}})
		for list, without := range map[string]string{"containers": "", "initContainers": "PASSWORD"} {
			var names []string
			for _, container := range kind.ListAt(objects[0].Object, "spec", "template", "spec", list) {
				for _, variable := range kind.ListAt(container, "env") {
					names = append(names, kind.TextAt(variable, "name"))
				}
			}
			want := strings.Join(strings.Fields(strings.Replace(c.want, without, "", 1)), " ")
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%s, %s: %q, want %q", name, list, got, want)
			}
		}
	}
}
