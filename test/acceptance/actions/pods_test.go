package actions_test

import (
	"slices"
	"strings"
	"testing"
)

// podNames returns the names of the pods of a namespace that are not being deleted.
func podNames(t *testing.T, ns string) []string {
	t.Helper()
	out := cluster.Kubectl(t, "get", "pods", "-n", ns, "-o",
		`jsonpath={range .items[*]}{.metadata.name} {.metadata.deletionTimestamp}{"\n"}{end}`)
	var names []string
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) == 1 {
			names = append(names, fields[0])
		}
	}
	return names
}

func intersection(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}
