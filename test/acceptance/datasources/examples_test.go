package datasources_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The reference shows these examples. Others are applied with a registry, with all GPUs or with real pods.
func TestAccDataSourceExamplesRead(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: trainer}
spec:
  replicas: 0
  selector: {matchLabels: {app: trainer}}
  template: {metadata: {labels: {app: trainer}}, spec: {containers: [{name: main, image: "trainer:1"}]}}
---
apiVersion: v1
kind: Event
metadata: {name: trainer.1}
involvedObject: {kind: Deployment, apiVersion: apps/v1, name: trainer, namespace: `+ns+`}
type: Warning
reason: Test
message: the warning of the test
`, "-n", ns)
	config := ""
	for _, name := range []string{"kt_compute", "kt_events"} {
		text, err := os.ReadFile(filepath.Join(acctest.Root(), "examples", "data-sources", name, "data-source.tf"))
		if err != nil {
			t.Fatal(err)
		}
		config += strings.ReplaceAll(string(text), `namespace = "ml"`, `namespace = "`+ns+`"`)
	}
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, config))
	cli.MustRun(t, "apply", "-auto-approve")
	acctest.ExpectText(t, cli.MustRun(t, "output"), `trainer_image = "trainer:1"`,
		"Deployment trainer: the warning of the test")
}
