package drift_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// Removing a list item that another manager also applies keeps it in the cluster, and the plan says so.
func TestAccAListItemThatAnotherManagerAppliesIsKeptAndReported(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	computes := cluster.Resources(t, "kt_compute", ns, "")
	manifest := func(more string) string {
		return `manifest = jsonencode({ apiVersion = "apps/v1", kind = "Deployment", spec = { ` +
			`selector = { matchLabels = { app = "a" } }, template = { metadata = { labels = { app = "a" } }, ` +
			`spec = { containers = [{ name = "kubetorch", image = "mine:1"` + more + ` }] } } } })`
	}
	with, without := map[string]string{}, map[string]string{}
	for name, bodies := range map[string][2]string{
		"one-of-two": {`env_vars = { SHARED = "1", OWN = "1" }`, `env_vars = { OWN = "1" }`},
		"all":        {`env_vars = { SHARED = "1" }`, ``},
		"with-value": {`env_vars = { SHARED = "1" }`, `env_vars = { OTHER = "1" }`},
		"manifest":   {manifest(`, env = [{ name = "SHARED", value = "1" }]`), manifest("")},
		"manifest-only": {"manifest_only = true\n" + manifest(`, env = [{ name = "SHARED", value = "1" }]`),
			"manifest_only = true\n" + manifest("")},
	} {
		common := fmt.Sprintf("name = %q\non_not_ready = \"ignore\"\n", name)
		if !strings.HasPrefix(name, "manifest") {
			common += "cpus = 1\n"
		}
		with[name], without[name] = common+bodies[0], common+bodies[1]
	}
	computes.Change(t, with)
	for name := range with {
		cluster.Apply(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec:
  template:
    spec:
      containers:
      - name: kubetorch
        env: [{name: SHARED, value: "1"}]
`, name), "-n", ns, "--server-side", "--field-manager=argocd-controller")
	}
	plans := computes.Plan(t, without)
	for name, p := range plans {
		if !slices.ContainsFunc(p.Warnings, func(text string) bool {
			return strings.Contains(text, "keeps fields that the plan removes") &&
				strings.Contains(text, `env["SHARED"]: managed by argocd-controller`)
		}) {
			t.Errorf("%s: no warning of the kept variable: %s of %q: %q", name, p.Action, p.Attributes(), p.Warnings)
		}
	}
	computes.Apply(t, plans)
	computes.ExpectNoChange(t, without)
	for name := range with {
		acctest.ExpectText(t, cluster.Kubectl(t, "get", "deployment", name, "-n", ns, "-o", "yaml"), "name: SHARED")
	}
	computes.Destroy(t)
}
