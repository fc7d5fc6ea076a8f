package computes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// Terraform hides a sensitive value in the attribute that it was assigned to. The objects in manifests contain it too.
func TestAccASensitiveVariableStandsInNoOutput(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	live := func() string {
		return cluster.Kubectl(t, "get", "deployment/trainer", "-n", ns, "-o",
			`jsonpath={.spec.template.spec.containers[0].env[?(@.name=="API_TOKEN")].value}`)
	}
	run := func(value string, args ...string) string {
		t.Helper()
		cli.Write(t, cluster.Config(ns, acctest.Compute(`env_vars = { API_TOKEN = var.token, MODE = "fast" }`))+
			fmt.Sprintf("\nvariable \"token\" {\n  sensitive = true\n  default = %q\n}\n", value))
		out := cli.MustRun(t, args...)
		if strings.Contains(out, "canary") {
			t.Errorf("%v shows the value:\n%s", args, out)
		}
		return out
	}
	for i, value := range []string{"canary-first", "canary-second"} {
		out := run(value, "plan")
		if want := `value = "(env_vars.API_TOKEN)"`; i == 0 {
			acctest.ExpectText(t, out, want)
		} else {
			acctest.ExpectText(t, out, "Plan: 0 to add, 1 to change, 0 to destroy.")
		}
		run(value, "apply", "-auto-approve")
		if got := live(); got != value {
			t.Errorf("the Deployment has the value %q, want %q", got, value)
		}
		run(value, "plan", "-detailed-exitcode") // fails unless the plan is empty
	}
	cluster.Kubectl(t, "set", "env", "deployment/trainer", "-n", ns, "API_TOKEN=canary-of-somebody")
	acctest.ExpectText(t, run("canary-second", "plan"), `env["API_TOKEN"].value: changed by kubectl`,
		"Plan: 0 to add, 1 to change, 0 to destroy.")
	run("canary-second", "apply", "-refresh-only", "-auto-approve")
	run("canary-second", "plan")
	run("canary-second", "apply", "-auto-approve")
	if got := live(); got != "canary-second" {
		t.Errorf("the repair sets %q", got)
	}
	run("canary-second", "plan", "-detailed-exitcode")
	run("canary-second", "show")
	run("canary-second", "destroy", "-auto-approve")
}

// The pods of a Job are immutable. A change of a variable changes no text in manifests, which refers to its value.
func TestAccAChangedVariableReplacesAJob(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	run := func(value string, command ...string) string {
		t.Helper()
		cli.Write(t, cluster.Config(ns, acctest.Compute(fmt.Sprintf("env_vars = { MODE = %q }\n%s", value,
			acctest.Manifest("apiVersion: batch/v1\nkind: Job\nspec: {backoffLimit: 0}")))))
		return cli.MustRun(t, command...)
	}
	run("fast", "apply", "-auto-approve")
	acctest.ExpectText(t, run("slow", "plan"), "Plan: 1 to add, 0 to change, 1 to destroy.")
	run("slow", "apply", "-auto-approve")
	run("slow", "plan", "-detailed-exitcode") // fails unless the plan is empty
	run("slow", "destroy", "-auto-approve")
}
