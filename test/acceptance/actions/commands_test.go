package actions_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// hello is a command. Nodes of these tests are fake: no command runs on them.
const hello = `command = ["echo", "hello"]`

func TestAccCommandInputIsValidatedOffline(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	for name, test := range map[string]struct{ action, attributes, text string }{
		"no command":               {"run", "command = []", "must contain at least 1"},
		"a missing command":        {"run", "", `The argument "command" is required`},
		"an empty program":         {"run", `command = [" ", "x"]`, "The first item of `command` is the program"},
		"a null argument":          {"run", `command = ["echo", null]`, "is null"},
		"unknown pods":             {"run", hello + "\npods = \"some\"", `["any" "all"]`},
		"no pods at the same time": {"run", hello + "\npods = \"all\"\nparallelism = 0", "between 1 and 100"},
		"parallelism of one pod": {"checkpoint", hello + "\npods = \"any\"\nparallelism = 2",
			"`parallelism` has no effect"},
		"pods of a job": {"run", hello + "\npods = \"all\"\njob = {}",
			"`pods` and `job` cannot both be set"},
		"a relative directory": {"run", hello + "\njob = { working_dir = \"data\" }", "absolute"},
		"an invalid variable":  {"run", hello + "\njob = { env_vars = { \"A B\" = \"1\" } }", "A B"},
		"an unknown result":    {"checkpoint", hello + "\non_failure = \"ignore\"", `["halt" "continue"]`},
		"a duration beyond timeout": {"logs", `duration = "2h"`,
			"`duration` must be shorter than `timeout`, which is 1h"},
		"no duration":          {"logs", `duration = "soon"`, "soon"},
		"a negative number":    {"logs", "tail_lines = -1", "at least 0"},
		"a log of no age":      {"logs", `since = "0"`, "`since` must be more than zero"},
		"two selections":       {"logs", "container = \"a\"\nall_containers = true", "cannot both be set"},
		"a log that has ended": {"logs", "previous = true\nduration = \"1m\"", "remove `duration` or `previous`"},
	} {
		cli.Write(t, action(test.action, test.attributes))
		out, err := cli.Run(t, "validate")
		if err == nil {
			t.Errorf("%s is valid", name)
		}
		acctest.ExpectText(t, out, test.text)
	}
}

func TestAccCommandsOnASuspendedCompute(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := cluster.Namespace(t)
	config := cluster.Config(ns, acctest.Compute("suspend = true"))
	cli.Write(t, config)
	cli.MustRun(t, "apply", "-auto-approve")
	// The end of the creation removes an annotation, which the controller observes a moment later.
	cluster.Kubectl(t, "rollout", "status", "deployment/trainer", "-n", ns, "--timeout=60s")

	cli.Write(t, config+action("run", hello))
	refused(t, cli, "run", "Error: Compute "+ns+"/trainer has no ready pod", "It has no pods.", "scaled to zero",
		"resume it if it is suspended", "The action has not changed anything.")
	cli.Write(t, config+action("checkpoint", hello+"\nrequire_pods = true"))
	refused(t, cli, "checkpoint", "Error: Compute "+ns+"/trainer has no ready pod")

	cli.Write(t, config+action("checkpoint", hello))
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_checkpoint.x"),
		"Nothing to save: compute "+ns+"/trainer has no running pod.")
	cli.Write(t, config+action("logs", `duration = "0"`))
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_logs.x"),
		"Warning: No logs to show", "Compute "+ns+"/trainer has no pods.", "scaled to zero")
}

func TestAccCommandsWithoutPermissionNameIt(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := cluster.Namespace(t)
	cluster.Kubectl(t, "create", "secret", "generic", "-n", ns, "token", "--from-literal=TOKEN=value")
	cli.Write(t, cluster.Config(ns, acctest.Compute(`secrets = [{ name = "token", env_vars = ["TOKEN"] }]`)))
	cli.MustRun(t, "apply", "-auto-approve")
	token := cluster.TokenAttributes(t, ns, cluster.ServiceAccount(t, ns, "viewer", "view"))
	viewer := "provider \"kt\" {\n" + token + "}\n"
	run := func(attributes string) { cli.Write(t, viewer+action("run", hello+"\n"+attributes)) }

	run("")
	refused(t, cli, "run", "Warning: Output is not shown", `cannot get resource "secrets"`, "mask_secrets = false",
		"Error: No permission to run a command in Pod "+ns+"/trainer-", `resource "pods/exec"`,
		"The action has not changed anything.")
	run("mask_secrets = false\njob = {}")
	refused(t, cli, "run", "Error: No permission to apply Job "+ns+"/trainer-run-", `cannot patch resource "jobs"`)
	run(`container = "sidecar"`)
	refused(t, cli, "run", "Error: Container does not exist", `The pods have no container "sidecar".`,
		"Set `container` to one of: kubetorch.")
}

// A command cannot run on a fake node, so the checkpoint fails.
func TestAccCheckpointThatFailsKeepsTheCompute(t *testing.T) {
	t.Parallel()
	acctest.RequireTerraform(t, "1.16")
	cli := acctest.NewCLI(t)
	cli.Setenv("TMPDIR", t.TempDir()) // the file of a hold is kept until the next one
	ns := cluster.Namespace(t)
	config := func(attributes, onFailure string) string {
		return cluster.Config(ns, acctest.Compute(attributes+`
  lifecycle {
    action_trigger {
      events  = [before_update, before_destroy]
      actions = [action.kt_checkpoint.x]
    }
  }`)) + strings.Replace(action("checkpoint", hello+"\non_failure = \""+onFailure+"\""),
			`name = "trainer"`, "id = caller.id", 1)
	}
	cli.Write(t, config("", "halt"))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode") // completes what a busy machine has left unfinished
	before := live(t, cluster, ns, "deployment/trainer")
	expect := func(what string, err error, out string, texts ...string) {
		t.Helper()
		if err == nil {
			t.Errorf("%s succeeded:\n%s", what, out)
		}
		acctest.ExpectText(t, out, texts...)
		if deployment := live(t, cluster, ns, "deployment/trainer"); deployment.GetUID() != before.GetUID() ||
			deployment.GetDeletionTimestamp() != nil || deployment.GetGeneration() != before.GetGeneration() {
			t.Errorf("%s changed the compute: %v", what, deployment)
		}
	}
	cli.Write(t, config("memory = \"256Mi\"", "halt"))
	out, err := cli.Run(t, "apply", "-auto-approve")
	expect("the update", err, out, "run a command in Pod "+ns+"/trainer-")
	out, err = cli.Run(t, "apply", "-auto-approve", "-replace=kt_compute.trainer")
	expect("the replacement", err, out, "run a command in Pod "+ns+"/trainer-")
	out, err = cli.Run(t, "destroy", "-auto-approve")
	expect("the destroy", err, out, "Error: Not destroyed: "+ns+"/trainer", "A kt_checkpoint of a compute of this name",
		"run a command in Pod "+ns+"/trainer-")
	wrongName := func(text string) string { return strings.Replace(text, "id = caller.id", `name = "trianer"`, 1) }
	other := strings.Replace(config("", "halt"), "  config {", "  provider = kt.other\n  config {", 1) +
		strings.Replace(cluster.Config(ns, ""), "{", "{\nalias = \"other\"", 1)
	second := strings.Replace(config("", "halt"), "action.kt_checkpoint.x]", "action.kt_checkpoint.x, "+
		"action.kt_checkpoint.y]", 1) + strings.Replace(action("checkpoint", hello+"\non_failure = \"continue\""),
		`"x"`, `"y"`, 1)
	for what, text := range map[string]string{
		"the destroy with another checkpoint that continues": second,
		"the destroy with a wrong name":                      wrongName(config("", "halt")),
		"the destroy with another provider":                  other,
		"the destroy with a wrong name and another provider": wrongName(other),
	} {
		cli.Write(t, text)
		out, err = cli.Run(t, "destroy", "-auto-approve")
		expect(what, err, out, "Error: Not destroyed: "+ns+"/trainer")
	}
	cli.Write(t, config("", "continue"))
	acctest.ExpectText(t, cli.MustRun(t, "destroy", "-auto-approve"), "Warning: Checkpoint failed", "The run continues",
		"1 destroyed")
}

func TestAccRunCreatesAJobFromEveryKind(t *testing.T) {
	t.Parallel()
	withCRDs.Started(t).WithComputes(t)
	command := func(of tftypes.Type) tftypes.Value {
		return tftypes.NewValue(of, []tftypes.Value{tftypes.NewValue(tftypes.String, "true")})
	}
	job := func(of tftypes.Type) tftypes.Value {
		values := map[string]tftypes.Value{}
		object, _ := of.(tftypes.Object)
		for name, of := range object.AttributeTypes {
			values[name] = tftypes.NewValue(of, nil)
		}
		values["keep"] = tftypes.NewValue(tftypes.Bool, true)
		return tftypes.NewValue(of, values)
	}
	for _, k := range kind.Workloads() {
		t.Run(k.Mode+"."+k.Group, func(t *testing.T) {
			t.Parallel()
			w := &workload{t: t, kind: k, ns: withCRDs.Namespace(t)}
			w.create()
			want := []string{"Created Job trainer-run-"}
			if k.Server != nil { // no operator runs in this test
				withCRDs.Apply(t, "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: trainer, labels: "+
					"{kubetorch.com/service: trainer}}\nspec: "+specs()["StatefulSet"]+"\n", "-n", w.ns)
			}
			r := invoke(t, withCRDs, "kt_run", map[string]any{"id": w.ns + "/trainer", "command": command, "job": job,
				"timeout": "20s"})
			acctest.ExpectText(t, r.String(), want...)
			got := withCRDs.Kubectl(t, "get", "jobs", "-n", w.ns, "-l",
				"app.kubernetes.io/managed-by=terraform-provider-kt", "-o",
				"jsonpath={.items[*].spec.template.spec.containers[*].command} "+
					"{.items[*].spec.template.metadata.labels}")
			if !strings.Contains(got, `["true"]`) || strings.Contains(got, kind.ServiceLabel) {
				t.Errorf("the Job is %s", got)
			}
		})
	}
}
