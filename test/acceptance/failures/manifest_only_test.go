package failures_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The objects of others lack the labels of Kubetorch, by which the shared watches select.
func TestAccFailureOfAManifestWithoutLabelsOfKubetorchIsDiagnosed(t *testing.T) {
	t.Parallel()
	ns, cli := cluster.Namespace(t), acctest.NewAttachedCLI(t)
	const selected = "selector = { matchLabels = { app = \"NAME\" } }"
	specs := map[string]string{
		"apps/v1 Deployment": selected, "apps/v1 DaemonSet": selected, "batch/v1 Job": "backoffLimit = 0",
		"apps/v1 StatefulSet": "serviceName = \"NAME\"\n" + selected,
	}
	var b strings.Builder
	for of, spec := range specs {
		version, k, _ := strings.Cut(of, " ")
		name, restarts := strings.ToLower(k), "Always"
		if k == "Job" {
			restarts = "Never"
		}
		fmt.Fprintf(&b, `
resource "kt_compute" %[1]q {
  name          = %[1]q
  namespace     = %[2]q
  manifest_only = true
  timeouts      = { create = "3m" }
  manifest = jsonencode({
    apiVersion = %[3]q
    kind       = %[4]q
    spec = {
      %[5]s
      template = {
        metadata = { labels = { app = %[1]q } }
        spec = {
          restartPolicy = %[6]q
          containers    = [{ name = "server", image = "broken.invalid/config:1" }]
        }
      }
    }
  })
}
`, name, ns, version, k, strings.ReplaceAll(spec, "NAME", name), restarts)
	}
	cli.Write(t, cluster.Config(ns, b.String()))
	result := cli.RunJSON(t, "apply", "-auto-approve")
	for of := range specs {
		_, k, _ := strings.Cut(of, " ")
		name := strings.ToLower(k)
		result.ExpectError(t, "kt_compute."+name, false, `secret "broken-config" not found`,
			"Pod "+ns+"/"+name+"-")
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}
