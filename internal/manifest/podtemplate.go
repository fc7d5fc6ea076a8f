package manifest

import (
	"cmp"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// PodTemplatePath returns the path of the pod template of a workload in the notation
// of pod_template_path, or "" if there is none. Of several, it is the one with the
// main container, or otherwise the first.
func PodTemplatePath(workload map[string]any) string {
	var first string
	for _, path := range kind.PodTemplates(workload) {
		if containerIn(workload, path, kind.ContainerName) != nil {
			return dotted(path)
		}
		first = cmp.Or(first, dotted(path))
	}
	return first
}
