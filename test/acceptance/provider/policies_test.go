package provider_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The policies of the examples have tests of their own, on written plans. `make policies` runs both.
func TestPoliciesCheckTheObjectsOfAPlan(t *testing.T) {
	t.Parallel()
	conftest := os.Getenv("KT_CONFTEST")
	if conftest == "" {
		t.Skip("runs with: make policies")
	}
	const passed = "0 warnings, 0 failures"
	for name, test := range map[string]struct{ block, attributes, says string }{
		"compliant": {"", `cpus = 1
  memory     = "1Gi"
  gpus       = 1
  image      = "server:1.0"
  queue_name = "team"`, passed},
		"GPUs without a queue": {"", "cpus = 1\n memory = \"1Gi\"\n gpus = 1\n image = \"server:1.0\"",
			"kt_compute.trainer: Deployment/NAMESPACE/trainer requests GPUs and is in no queue."},
		"a tensor server with GPUs": {"", "runtime = \"skytorch\"\n cpus = 1\n memory = \"1Gi\"\n gpus = 1\n" +
			"image = \"server:1.0\"",
			"kt_compute.trainer: Compute/NAMESPACE/trainer requests GPUs and is in no queue."},
		"no memory": {"", "cpus = 1\n image = \"server:1.0\"", "that requests no memory."},
		"no tag": {"", "cpus = 1\n memory = \"1Gi\"\n image = \"server\"",
			"has an image without a fixed version: server."},
		"objects known after apply": {"compact_plans = true", "gpus = 1",
			"kt_compute.trainer: The objects are known after apply"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			cli := acctest.NewCLI(t)
			cli.Write(t, cluster.ConfigWith(ns, test.block, acctest.BareCompute(test.attributes)))
			cli.MustRun(t, "plan", "-out", "plan.tfplan")
			plan := filepath.Join(cli.Dir, "plan.json")
			if err := os.WriteFile(plan, []byte(cli.MustRun(t, "show", "-json", "plan.tfplan")), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), conftest, "test", "--no-color", "--policy",
				filepath.Join(acctest.Root(), "examples", "policies"), plan).CombinedOutput()
			acctest.ExpectText(t, strings.ReplaceAll(string(out), ns, "NAMESPACE"), test.says)
			if rejected := strings.Contains(string(out), "FAIL - "); rejected != (err != nil) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
