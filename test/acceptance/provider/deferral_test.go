package provider_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// deferred returns a configuration whose provider depends on a resource of the run.
func deferred(ns string) string {
	return fmt.Sprintf(`
resource "terraform_data" "cluster" {
  input = %q
}

provider "kt" {
  config_path = terraform_data.cluster.output
  namespace   = %q
}
%s

data "kt_compute" "trainer" {
  name = "elsewhere"
}

output "ready" {
  value = kt_compute.trainer.ready
}
`, cluster.Kubeconfig(), ns, acctest.Compute(""))
}

// Deferred actions are an experiment of Terraform, which its builds for tests include.
func TestAccUnknownClusterDefersWhatNeedsIt(t *testing.T) {
	t.Parallel()
	acctest.RequireTerraform(t, "1.16")
	ns := cluster.Namespace(t)
	cluster.Kubectl(t, "create", "deployment", "elsewhere", "--image", "python:3.12", "-n", ns)
	c := acctest.NewCLI(t)
	c.Write(t, deferred(ns))

	c.MustRun(t, "plan", "-allow-deferral", "-out", "plan")
	for _, address := range []string{acctest.Trainer, "data." + acctest.Trainer} {
		if reason := reasonsOfDeferral(t, c)[address]; reason != "provider_config_unknown" {
			t.Errorf("the reason for the deferral of %s is %q", address, reason)
		}
	}
	out := c.MustRun(t, "apply", "plan")
	if !strings.Contains(out, "1 added, 0 changed, 0 destroyed") {
		t.Errorf("the first apply does not create the cluster alone:\n%s", out)
	}
	if left := cluster.Kubectl(t, "get", "deployments", "-n", ns, "-o", "name"); strings.Contains(left, "trainer") {
		t.Errorf("the first apply created a deferred resource: %s", left)
	}
	out = c.MustRun(t, "apply", "-auto-approve", "-allow-deferral")
	if !strings.Contains(out, "1 added, 0 changed, 0 destroyed") || strings.Contains(out, "deferred") {
		t.Errorf("the second apply does not create the compute:\n%s", out)
	}
	c.MustRun(t, "plan", "-detailed-exitcode", "-allow-deferral")
	c.MustRun(t, "destroy", "-auto-approve")
}

// reasonsOfDeferral returns the reason for each deferred resource of a saved plan. The output for people has none.
func reasonsOfDeferral(t *testing.T, c *acctest.CLI) map[string]string {
	t.Helper()
	var plan struct {
		Deferred []struct {
			Reason string `json:"reason"`
			Change struct {
				Address string `json:"address"`
			} `json:"resource_change"`
		} `json:"deferred_changes"`
	}
	out := c.MustRun(t, "show", "-json", "plan")
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	reasons := map[string]string{}
	for _, d := range plan.Deferred {
		reasons[d.Change.Address] = d.Reason
	}
	return reasons
}

func TestAccUnknownClusterIsPlannedWithoutDeferral(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	c := acctest.NewCLI(t)
	config, _, _ := strings.Cut(deferred(ns), "data \"kt_compute\"")
	c.Write(t, config)
	out := c.MustRun(t, "apply", "-auto-approve")
	if !strings.Contains(out, "2 added, 0 changed, 0 destroyed") {
		t.Errorf("the apply does not create both resources:\n%s", out)
	}
	c.MustRun(t, "plan", "-detailed-exitcode")
	c.MustRun(t, "destroy", "-auto-approve")
}
