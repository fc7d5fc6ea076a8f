package computes_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccPlanOutputShowsDrift(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, acctest.Compute("replicas = 2")))
	cli.MustRun(t, "apply", "-auto-approve")
	cluster.Kubectl(t, "scale", "deployment/trainer", "--replicas=5", "-n", ns)
	cluster.Kubectl(t, "set", "image", "deployment/trainer", "kubetorch=other:1", "-n", ns)

	out, err := cli.Run(t, "plan", "-detailed-exitcode")
	if exit := (&exec.ExitError{}); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("plan returned %v, want exit code 2 (changes)", err)
	}
	acctest.ExpectText(t, out,
		"Warning: Deployment "+ns+"/trainer was changed outside of Terraform",
		`spec.template.spec.containers["kubetorch"].image: changed by kubectl-set at 20`,
		"spec.replicas: changed by kubectl",
		`~ image = "other:1" -> "ghcr.io/run-house/server:v3"`,
		"~ replicas = 5 -> 2",
		"Plan: 0 to add, 1 to change, 0 to destroy.",
	)
	cli.MustRun(t, "apply", "-refresh-only", "-auto-approve") // writes the values of the cluster to the state
	acctest.ExpectText(t, cli.MustRun(t, "plan"), "~ replicas = 5 -> 2", "Plan: 0 to add, 1 to change, 0 to destroy.")
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode") // fails unless the plan is empty
	cli.MustRun(t, "destroy", "-auto-approve")
}

// The cluster has no CRD of Kubetorch, so the creation leaves the registration null.
func TestAccRefreshAfterACreationShowsNoChange(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, acctest.Compute("replicas = 2")))
	cli.MustRun(t, "apply", "-auto-approve")
	if out := cli.MustRun(t, "plan", "-refresh-only"); strings.Contains(out, "Objects have changed") {
		t.Errorf("a refresh shows a change:\n%s", out)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

// Terraform and OpenTofu show no warning of the second plan of a replacement, that of the creation.
func TestAccPlanOfAReplacementShowsTheWarningsOfTheCreation(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	config := func(attributes string) string {
		return cluster.Config(ns, "resource \"kt_compute\" \"trainer\" {\n"+attributes+"\n}\n")
	}
	cli.Write(t, config(`name = "trainer"`))
	cli.MustRun(t, "apply", "-auto-approve")
	const replaced = "Plan: 1 to add, 0 to change, 1 to destroy."
	for attributes, warnings := range map[string][]string{
		"name = \"trainer\"\nnamespace = \"" + ns + "-x\"": {`Namespace "` + ns + `-x" does not exist`},
		"name = \"other\"\ngpus = 1\ngpu_type = \"none\"\nservice_account_name = \"x\"": {
			"No node can run the pods", "The service account does not exist yet"},
		"name = \"other\"\ngpus = 1\ngpu_type = \"none\"\nlifecycle { ignore_changes = [gpu_type] }": {
			"No node can run the pods"},
		"name = \"trainer\"\nautoscale = { min_scale = 1, max_scale = 2 }\ngpus = 1\ngpu_type = \"none\"": {
			"No node can run the pods"},
	} {
		cli.Write(t, config(attributes))
		out := cli.MustRun(t, "plan")
		for _, text := range append(warnings, replaced) {
			if strings.Count(out, text) != 1 {
				t.Errorf("want %q once in:\n%s", text, out)
			}
		}
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

func TestAccSavedPlanIsRejectedIfAnObjectWasDeletedSince(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, acctest.Compute("")))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.Write(t, cluster.Config(ns, acctest.Compute(`memory = "2Gi"`)))
	cli.MustRun(t, "plan", "-out=saved")
	cluster.Kubectl(t, "delete", "deployment/trainer", "-n", ns)

	out, err := cli.Run(t, "apply", "saved")
	if err == nil {
		t.Errorf("the apply of an outdated plan succeeded:\n%s", out)
	}
	acctest.ExpectText(t, out, "Another client changed Deployment "+ns+"/trainer at the same time", "uid mismatch")
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}

func TestAccSavedPlanIsRejectedIfAnObjectWasCreatedSince(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, acctest.Compute("")))
	cli.MustRun(t, "plan", "-out=saved")
	cluster.Apply(t, fmt.Sprintf(foreignDeployment, "kubetorch.com/service"), "-n", ns)

	out, err := cli.Run(t, "apply", "saved")
	if err == nil {
		t.Errorf("the apply over a Deployment of another client succeeded:\n%s", out)
	}
	acctest.ExpectText(t, out, "Deployment "+ns+"/trainer was not created by this provider")
	if state := cli.MustRun(t, "state", "list"); strings.Contains(state, "kt_compute") {
		t.Errorf("the state contains a resource that was not created:\n%s", state)
	}
	if image := cluster.Kubectl(t, "get", "deployment/trainer", "-n", ns, "-o",
		"jsonpath={.spec.template.spec.containers[0].image}"); image != "by-hand:1" {
		t.Errorf("the Deployment of another client has the image %s", image)
	}
}
