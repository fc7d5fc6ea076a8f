package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// ofContainers returns a Deployment with the containers of a YAML list.
func ofContainers(tb testing.TB, containers string) *unstructured.Unstructured {
	tb.Helper()
	var list []any
	if err := yaml.Unmarshal([]byte(containers), &list); err != nil {
		tb.Fatal(err)
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": list}}}}}
}

func TestValuesOfEnvVarsAreHiddenWhereTheAttributeSetsThem(t *testing.T) {
	t.Parallel()
	values := map[string]string{"TOKEN": "secret", "HOME_DIR": "$HOME/secret"}
	for name, test := range map[string]struct{ live, hidden string }{
		"a variable": {
			`[{name: kubetorch, env: [{name: TOKEN, value: secret}, {name: LEVEL, value: secret}]}]`,
			`[{name: kubetorch, env: [{name: TOKEN, value: (env_vars.TOKEN)}, {name: LEVEL, value: secret}]}]`},
		"a variable of another container": {
			`[{name: kubetorch}, {name: sidecar, env: [{name: TOKEN, value: secret}]}]`,
			`[{name: kubetorch}, {name: sidecar, env: [{name: TOKEN, value: secret}]}]`},
		"a key of a Secret": {
			`[{name: kubetorch, env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: a}}}]}]`,
			`[{name: kubetorch, env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: a}}}]}]`},
		"another value": {
			`[{name: kubetorch, env: [{name: TOKEN, value: earlier}]}]`,
			`[{name: kubetorch, env: [{name: TOKEN, value: earlier}]}]`},
		"a line of the script": {
			`[{name: kubetorch, args: ["set -e\nexport HOME_DIR=\"$HOME/secret\"\nexec a\n"]}]`,
			`[{name: kubetorch, args: ["set -e\nexport HOME_DIR=(env_vars.HOME_DIR)\nexec a\n"]}]`},
		"invalid fields": {`[null, 1, {name: kubetorch, env: [null, {name: 1, value: 2}], args: [null, 1]}]`,
			`[null, 1, {name: kubetorch, env: [null, {name: 1, value: 2}], args: [null, 1]}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := ofContainers(t, test.live)
			before := live.DeepCopy()
			all := manifest.EnvValues{manifest.MainContainer: values}
			hidden := manifest.HideEnvVars(live, all)
			if diff := cmp.Diff(ofContainers(t, test.hidden), hidden); diff != "" {
				t.Errorf("hidden:\n%s", diff)
			}
			if shown := manifest.ShowEnvVars(hidden, all); shown == cmp.Equal(before, ofContainers(t, test.hidden)) {
				t.Errorf("reported as shown: %t", shown)
			}
			if diff := cmp.Diff(live, hidden); diff != "" {
				t.Errorf("shown again:\n%s", diff)
			}
			if diff := cmp.Diff(before, live); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
		})
	}
}

func TestValuesOfOtherContainersAreHidden(t *testing.T) {
	t.Parallel()
	for name, autoscale := range map[string]*manifest.Autoscale{"Deployment": nil, "Knative Service": {}} {
		live := render(t, minimal(func(c *manifest.Compute) {
			c.Autoscale, c.EnvVars = autoscale, map[string]string{"A": "of-main"}
			if autoscale != nil {
				c.Replicas, c.ReplicasGiven = 0, false
			}
			c.InitContainers = []manifest.Container{
				{Name: "fetch", Image: "a:1", EnvVars: map[string]string{"A": "of-init"}}}
			c.Sidecars = []manifest.Container{
				{Name: "proxy", Image: "a:1", EnvVars: map[string]string{"A": "of-sidecar"}}}
		}))[0]
		values := manifest.EnvValues{manifest.MainContainer: {"A": "of-main"}, "fetch": {"A": "of-init"},
			"proxy": {"A": "of-sidecar"}}
		hidden := manifest.HideEnvVars(live, values)
		text := toJSON(t, hidden.Object)
		if strings.Contains(text, `"of-`) || strings.Count(text, "(env_vars.A)") != 3 {
			t.Errorf("%s: %s", name, text)
		}
		if !manifest.ShowEnvVars(hidden, values) || !cmp.Equal(live, hidden) {
			t.Errorf("%s: shown again:\n%s", name, cmp.Diff(live, hidden))
		}
	}
}

// FuzzHideEnvVars checks that hidden values are shown again, and are not left in the environment.
func FuzzHideEnvVars(f *testing.F) {
	f.Add("TOKEN", "secret", "set -e\n")
	f.Add("A", "(env_vars.A)", "\nexport A=(env_vars.A)\n")
	f.Add("PATH", "$PATH:/x", "a\nexport PATH=\"$PATH:/x\"\nb")
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, name, value, script string) {
		if strings.Contains(script, "(env_vars.") {
			return // a text that the provider does not render
		}
		container := map[string]any{"name": "kubetorch", "args": []any{script},
			"env": []any{map[string]any{"name": name, "value": value}}}
		live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{container}}}}}}
		values := map[string]string{name: value}
		hidden := manifest.HideEnvVars(live, manifest.EnvValues{manifest.MainContainer: values})
		if strings.Contains(toJSON(t, hidden.Object), `"value":`+toJSON(t, map[string]any{"": value})[4:]) &&
			value != "(env_vars."+name+")" {
			t.Errorf("the value is shown: %v", hidden)
		}
		const line = `export PATH="$PATH:/x"`
		if name == "PATH" && value == "$PATH:/x" && strings.Count(script, line) == 1 &&
			strings.Contains(toJSON(t, hidden.Object), strings.Trim(toJSON(t, "\n"+line+"\n"), `"`)) {
			t.Errorf("the script shows the value: %v", hidden)
		}
		manifest.ShowEnvVars(hidden, manifest.EnvValues{manifest.MainContainer: values})
		if diff := cmp.Diff(live, hidden); diff != "" {
			t.Errorf("shown again:\n%s", diff)
		}
	})
}
