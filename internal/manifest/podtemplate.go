package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// PodTemplatePath returns the path of the pod template of a workload in the notation
// of pod_template_path, or "" if there is none. Of several, it is the one with the
// main container, or otherwise the first.
func PodTemplatePath(workload map[string]any) string {
	var first string
	for _, path := range podTemplates(workload, nil) {
		if containerIn(workload, path, kind.ContainerName) != nil {
			return dotted(path)
		}
		first = cmp.Or(first, dotted(path))
	}
	return first
}

// podTemplates returns the paths of all maps with spec.containers.
func podTemplates(value any, at []string) [][]string {
	var found [][]string
	switch value := value.(type) {
	case map[string]any:
		if containers, _ := kind.Find(value, []string{"spec", "containers"}); containers != nil && len(at) > 0 {
			if _, isList := containers.([]any); isList {
				found = append(found, at)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if key != "status" || len(at) > 0 {
				found = append(found, podTemplates(value[key], append(slices.Clone(at), key))...)
			}
		}
	case []any:
		for i, item := range value {
			found = append(found, podTemplates(item, append(slices.Clone(at), strconv.Itoa(i)))...)
		}
	}
	return found
}
