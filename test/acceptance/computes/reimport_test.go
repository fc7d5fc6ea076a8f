package computes_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The objects have no labels of Kubetorch, although this provider manages their fields.
func TestAccComputeWithManifestOnlyIsImportedAgainAsItIs(t *testing.T) {
	t.Parallel()
	const template = `template = {
        metadata = { labels = { app = "NAME" } }
        spec = {
          RESTARTS
          containers = [{
            name = "server", image = "IMAGE", args = ["--model", "qwen"], env = [{ name = "A", value = "b" }]
          }]
        }
      }`
	const selected = `selector = { matchLabels = { app = "NAME" } }
      replicas = 2
      ` + template
	for name, test := range map[string]struct {
		version, kind, spec, restarts string
		kubectl                       string // a change by another client
	}{
		"deployment": {"apps/v1", "Deployment", selected, "",
			"rollout restart deployment/deployment"},
		"statefulset": {"apps/v1", "StatefulSet", "serviceName = \"NAME\"\n" + selected, "",
			"rollout restart statefulset/statefulset"},
		"job": {"batch/v1", "Job", template, `restartPolicy = "Never"`, "label job/job of=another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns, cli := cluster.Namespace(t), acctest.NewAttachedCLI(t)
			config := `
resource "kt_compute" "one" {
  name          = "NAME"
  namespace     = "` + ns + `"
  manifest_only = true
  manifest = jsonencode({
    apiVersion = "` + test.version + `"
    kind       = "` + test.kind + `"
    spec = {
      ` + test.spec + `
    }
  })
}
`
			config = strings.NewReplacer("NAME", name, "RESTARTS", test.restarts).Replace(config)
			cli.Write(t, cluster.Config(ns, strings.ReplaceAll(config, "IMAGE", "mine:1")))
			cli.MustRun(t, "apply", "-auto-approve")
			cli.Write(t, cluster.Config(ns, strings.ReplaceAll(config, "IMAGE", "mine:2")))
			cli.MustRun(t, "apply", "-auto-approve")
			cluster.Kubectl(t, append(strings.Fields(test.kubectl), "-n", ns)...)
			cli.MustRun(t, "state", "rm", "kt_compute.one")
			cli.MustRun(t, "import", "kt_compute.one", ns+"/"+name)
			cli.MustRun(t, "plan", "-detailed-exitcode")
			cli.MustRun(t, "destroy", "-auto-approve")
		})
	}
}
