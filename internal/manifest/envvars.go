package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Terraform hides the value of a sensitive variable in the attribute that it sets, and nowhere else. The attribute
// manifests therefore contains a reference in place of each value that env_vars sets: (env_vars.NAME). It is recognized
// by its place, so that the same text elsewhere is only text.

// EnvValues are the values of env_vars, by the name of the container in init_containers or sidecars, and those of the
// main container by [MainContainer].
type EnvValues map[string]map[string]string

// MainContainer is the key of the main container, which has another name in each kind.
const MainContainer = ""

// HideEnvVars returns a copy of a workload with references in place of the values in the environment of its containers.
// Other values of these variables stay.
func HideEnvVars(
	workload *unstructured.Unstructured, values EnvValues, podTemplate ...string,
) *unstructured.Unstructured {
	out := workload.DeepCopy()
	replaceEnv(out, values, podTemplate, func(value, reference string) (from, to string) { return value, reference })
	return out
}

// ShowEnvVars replaces the references in a workload by the values, and reports whether there are any. It is the inverse
// of HideEnvVars.
func ShowEnvVars(workload *unstructured.Unstructured, values EnvValues, podTemplate ...string) bool {
	return replaceEnv(workload, values, podTemplate,
		func(value, reference string) (from, to string) { return reference, value })
}

// replaceEnv replaces values in the environment of the containers of a workload, and the lines of the startup script
// that export those of the main containers. direction returns what is replaced, and by what. The result reports whether
// anything changes.
func replaceEnv(
	workload *unstructured.Unstructured, all EnvValues, podTemplate []string,
	direction func(value, reference string) (from, to string),
) (changed bool) {
	values, lines := all[MainContainer], map[string]string{}
	for name, value := range values {
		for _, line := range expansions(map[string]string{name: value}) {
			from, to := direction(line, "export "+name+"="+reference(name))
			lines["\n"+from+"\n"] = "\n" + to + "\n"
		}
	}
	for _, container := range mainContainers(workload, podTemplate) {
		changed = replaceVariables(container, values, direction) || changed
		args, _ := container["args"].([]any)
		for i, arg := range args {
			script, isText := arg.(string)
			if !isText {
				continue
			}
			for from, to := range lines { // one after the other, because two lines share a line break
				script = strings.ReplaceAll(script, from, to)
			}
			changed = changed || script != arg
			args[i] = script
		}
	}
	for _, container := range containersBeside(workload, podTemplate) {
		if name, _ := container["name"].(string); name != MainContainer {
			changed = replaceVariables(container, all[name], direction) || changed
		}
	}
	return changed
}

func replaceVariables(
	container map[string]any, values map[string]string, direction func(value, reference string) (from, to string),
) (changed bool) {
	for _, variable := range kind.ListAt(container, "env") {
		name, _ := variable["name"].(string)
		value, isText := variable["value"].(string)
		set, isSet := values[name]
		if from, to := direction(set, reference(name)); isText && isSet && value == from && from != to {
			variable["value"], changed = to, true
		}
	}
	return changed
}

func reference(name string) string { return "(env_vars." + name + ")" }

// mainContainers returns the containers of a workload whose environment env_vars sets, one in each pod template. For a
// tensor server, this is its spec, from which the operator creates the container.
func mainContainers(workload *unstructured.Unstructured, podTemplate []string) []map[string]any {
	k, _ := kindOfObject(workload.GroupVersionKind(), podTemplate)
	if k.RunsTensorServer() {
		return []map[string]any{kind.FieldsAt(workload.Object, "spec")}
	}
	var all []map[string]any
	for _, group := range k.Groups(workload.Object) {
		if container := containerIn(workload.Object, group.Template, k.Container); container != nil {
			all = append(all, container)
		}
	}
	return all
}

// WithoutCommand returns a copy of a workload whose main containers have no command.
func WithoutCommand(workload *unstructured.Unstructured) *unstructured.Unstructured {
	out := workload.DeepCopy()
	for _, container := range mainContainers(out, nil) {
		delete(container, "command")
		delete(container, "args")
	}
	return out
}

// AddedBeside returns the name of the main container and those of the containers of manifest, if rendering adds the
// main one to them.
func AddedBeside(manifest, rendered *unstructured.Unstructured, podTemplate ...string) (main string, others []string) {
	k, _ := kindOfObject(manifest.GroupVersionKind(), podTemplate)
	if len(mainContainers(manifest, podTemplate)) >= len(mainContainers(rendered, podTemplate)) {
		return "", nil
	}
	for _, group := range k.Groups(manifest.Object) { // rendering also adds groups and copies templates
		if containerIn(manifest.Object, group.Template, k.Container) != nil {
			continue
		}
		for _, container := range kind.ListAt(manifest.Object, kind.Under(group.Template, "spec", "containers")...) {
			others = append(others, kind.TextAt(container, "name"))
		}
	}
	return k.Container, others
}

// containersBeside returns the other containers of a workload, in all pod templates.
func containersBeside(workload *unstructured.Unstructured, podTemplate []string) []map[string]any {
	k, _ := kindOfObject(workload.GroupVersionKind(), podTemplate)
	var all []map[string]any
	for _, group := range k.Groups(workload.Object) {
		for _, list := range []string{"initContainers", "containers"} {
			for _, container := range kind.ListAt(workload.Object, kind.Under(group.Template, "spec", list)...) {
				if container["name"] != k.Container {
					all = append(all, container)
				}
			}
		}
	}
	return all
}
