package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Terraform hides the value of a sensitive variable in the attribute that it sets, and nowhere else. The attribute
// manifests therefore contains a reference in place of each value that env_vars sets: (env_vars.NAME). It is recognized
// by its place, so that the same text elsewhere is only text.

// HideEnvVars replaces the values in the environment of the main containers of a workload by references. Other values
// of these variables stay.
func HideEnvVars(
	workload *unstructured.Unstructured, values map[string]string, podTemplate ...string,
) *unstructured.Unstructured {
	out := workload.DeepCopy()
	replaceEnv(out, podTemplate, func(name, value string) string {
		if set, ok := values[name]; ok && value == set {
			return reference(name)
		}
		return value
	}, func(script string) string {
		for name, line := range linesOf(values) {
			script = strings.ReplaceAll(script, "\n"+line+"\n", "\nexport "+name+"="+reference(name)+"\n")
		}
		return script
	})
	return out
}

// ShowEnvVars replaces the references in a workload by the values, and reports whether there are any. It is the inverse
// of HideEnvVars.
func ShowEnvVars(workload *unstructured.Unstructured, values map[string]string, podTemplate ...string) bool {
	return replaceEnv(workload, podTemplate, func(name, value string) string {
		if set, ok := values[name]; ok && value == reference(name) {
			return set
		}
		return value
	}, func(script string) string {
		for name, line := range linesOf(values) {
			script = strings.ReplaceAll(script, "\nexport "+name+"="+reference(name)+"\n", "\n"+line+"\n")
		}
		return script
	})
}

func reference(name string) string { return "(env_vars." + name + ")" }

// linesOf returns the lines of the startup script that contain values, by variable.
func linesOf(values map[string]string) map[string]string {
	lines := map[string]string{}
	for name, value := range values {
		for _, line := range expansions(map[string]string{name: value}) {
			lines[name] = line
		}
	}
	return lines
}

// replaceEnv replaces the values in the environment, and the arguments, of the main containers of a workload. It
// reports whether any changes.
func replaceEnv(
	workload *unstructured.Unstructured, podTemplate []string, env func(name, value string) string,
	script func(string) string,
) (changed bool) {
	for _, container := range mainContainers(workload, podTemplate) {
		for _, variable := range kind.ListAt(container, "env") {
			name, _ := variable["name"].(string)
			value, ok := variable["value"].(string)
			if with := env(name, value); ok && with != value {
				variable["value"], changed = with, true
			}
		}
		args, _ := container["args"].([]any)
		for i, arg := range args {
			if text, ok := arg.(string); ok && script(text) != text {
				args[i], changed = script(text), true
			}
		}
	}
	return changed
}

// mainContainers returns the containers of a workload whose environment env_vars sets, one in each pod template. For a
// tensor server, this is its spec, from which the operator creates the container.
func mainContainers(workload *unstructured.Unstructured, podTemplate []string) []map[string]any {
	k, _ := kindOfObject(workload.GroupVersionKind(), podTemplate)
	if k.RunsTensorServer() {
		spec, _ := workload.Object["spec"].(map[string]any)
		return []map[string]any{spec}
	}
	var all []map[string]any
	for _, group := range k.Groups(workload.Object) {
		for _, container := range kind.ListAt(workload.Object, kind.Under(group.Template, "spec", "containers")...) {
			if container["name"] == k.Container {
				all = append(all, container)
			}
		}
	}
	return all
}
