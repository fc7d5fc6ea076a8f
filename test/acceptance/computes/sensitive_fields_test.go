package computes_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// A value that is no value of env_vars reaches the objects through other attributes, here args, annotations and the
// steps of an image.
func TestAccSensitiveFieldsStandInNoOutput(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t) // the log of an attached provider is not in the output
	cli.Setenv("TF_LOG_PROVIDER", "TRACE")
	container := func(path string) string {
		return cluster.Kubectl(t, "get", "deployment/trainer", "-n", ns, "-o",
			"jsonpath={.spec.template.spec.containers[0]."+path+"}")
	}
	run := func(value string, args ...string) string {
		t.Helper()
		cli.Write(t, cluster.Config(ns, strings.Join([]string{acctest.Compute(`
			args             = ["--token", var.token]
			command          = ["serve"]
			sensitive_fields = ["spec.template.spec.containers[0].args[1]", "metadata.annotations",
			                    "spec.template.metadata.annotations"]
			annotations      = { "example.com/token" = var.token }
		`), `
resource "kt_image" "setup" {
  name             = "setup"
  image_id         = "debian:12"
  steps            = [{ run_bash = "echo ${var.token}" }]
  sensitive_fields = ["data"]
}`, `
resource "kt_volume" "data" {
  name             = "data"
  size             = "1Gi"
  annotations      = { "example.com/token" = var.token }
  sensitive_fields = ["metadata.annotations"]
}`, `
resource "kt_secret" "token" {
  name              = "token"
  values_wo         = { TOKEN = var.token }
  values_wo_version = 1
  annotations       = { "example.com/token" = var.token }
  sensitive_fields  = ["metadata.annotations"]
}`, `
variable "token" {
  sensitive = true
  default   = "` + value + `"
}`}, "\n")))
		out, err := cli.Run(t, args...)
		for line := range strings.SplitSeq(out, "\n") {
			if strings.Contains(line, "canary") {
				t.Errorf("%v shows the value: %s", args, line)
			}
		}
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, withoutLog(out))
		}
		return out
	}
	for i, value := range []string{"canary-first", "canary-second"} {
		out := run(value, "plan")
		acctest.ExpectText(t, out, "Calling provider defined Resource ModifyPlan") // the log has the level TRACE
		if i == 0 {
			acctest.ExpectText(t, out, `"(sensitive 1)"`, "Plan: 4 to add, 0 to change, 0 to destroy.")
		} else {
			acctest.ExpectText(t, out, `"(sensitive 1)" -> "(sensitive 2)"`,
				"Plan: 0 to add, 4 to change, 0 to destroy.")
		}
		run(value, "apply", "-auto-approve")
		if got := container("args[1]"); got != value {
			t.Errorf("the Deployment has the argument %q, want %q", got, value)
		}
		run(value, "plan", "-detailed-exitcode") // fails unless the plan is empty
	}
	cluster.Kubectl(t, "patch", "deployment/trainer", "-n", ns, "--type=json", "-p",
		`[{"op": "replace", "path": "/spec/template/spec/containers/0/args/1", "value": "canary-of-somebody"}]`)
	acctest.ExpectText(t, run("canary-second", "plan"), "args: changed by kubectl",
		"Plan: 0 to add, 1 to change, 0 to destroy.")
	run("canary-second", "apply", "-refresh-only", "-auto-approve")
	run("canary-second", "apply", "-auto-approve")
	if got := container("args[1]"); got != "canary-second" {
		t.Errorf("the repair sets %q", got)
	}
	run("canary-second", "plan", "-detailed-exitcode")
	run("canary-second", "show")
	run("canary-second", "destroy", "-auto-approve")
}

// withoutLog removes the lines that TF_LOG adds.
func withoutLog(out string) string {
	return regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT.*\n`).ReplaceAllString(out, "")
}
