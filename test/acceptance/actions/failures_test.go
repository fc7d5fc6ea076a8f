package actions_test

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// action returns an action on the compute trainer, with the label x.
func action(name, attributes string) string {
	return fmt.Sprintf("\naction \"kt_%s\" \"x\" {\n  config {\n    name = \"trainer\"\n    %s\n  }\n}\n", name,
		attributes)
}

// refused invokes the action x, which must fail with these texts.
func refused(t *testing.T, cli *acctest.CLI, name string, texts ...string) {
	t.Helper()
	out, err := cli.Run(t, "apply", "-auto-approve", "-invoke=action.kt_"+name+".x")
	if err == nil {
		t.Errorf("kt_%s succeeded:\n%s", name, out)
	}
	acctest.ExpectText(t, out, texts...)
}

func TestAccActionOfAMissingComputeIsAnErrorAtItsName(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := cluster.Namespace(t)
	cli.Write(t, cluster.Config(ns, action("restart", "")))
	refused(t, cli, "restart", "Error: Compute "+ns+"/trainer does not exist", `name = "trainer"`,
		"The action has not changed anything.")
}

func TestAccActionWithoutPermissionNamesVerbAndResource(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := cluster.Namespace(t)
	cli.Write(t, cluster.Config(ns, acctest.Compute("replicas = 2")))
	cli.MustRun(t, "apply", "-auto-approve")
	node := cluster.Kubectl(t, "get", "pods", "-n", ns, "-o", "jsonpath={.items[0].spec.nodeName}")
	viewer := cluster.TokenAttributes(t, ns, cluster.ServiceAccount(t, ns, "viewer", "view"))
	for name, test := range map[string]struct{ attributes, object, permission string }{
		"restart": {"", "change Deployment", `cannot patch resource "deployments" in API group "apps"`},
		"suspend": {"", "change Deployment", `cannot patch resource "deployments" in API group "apps"`},
		"scale":   {"replicas = 1", "change Deployment", `cannot patch resource "deployments" in API group "apps"`},
		"evacuate": {fmt.Sprintf("node = %q", node), "evict Pod",
			`cannot create resource "pods/eviction" in API group ""`},
	} {
		cli.Write(t, "provider \"kt\" {\n"+viewer+"}\n"+action(name, test.attributes))
		refused(t, cli, name, "Error: No permission to "+test.object+" "+ns+"/trainer", test.permission,
			"Next step: Grant the permission", "The action has not changed anything.")
	}
}

func TestAccActionTimesOutWithTheLastStatus(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := cluster.Namespace(t)
	const neverReady = `image = "broken.invalid/never"` + "\non_not_ready = \"ignore\"\n"
	cli.Write(t, cluster.Config(ns, acctest.Compute(neverReady)+
		action("restart", `timeout = "`+acctest.ShortTimeout+`"`)))
	cli.MustRun(t, "apply", "-auto-approve")
	refused(t, cli, "restart", "Error: Deployment "+ns+"/trainer is not ready",
		"Timed out after "+acctest.ShortTimeout+" (`timeout`).", "increase `timeout`", "Done before this error:",
		"Requested the restart of Deployment "+ns+"/trainer")
}

func TestAccActionEndsEarlyWithThePermanentCause(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := cluster.Namespace(t)
	cli.Write(t, cluster.Config(ns, acctest.Compute("on_not_ready = \"ignore\"\n"+
		"secrets = [{ name = \"missing\", env_vars = [\"TOKEN\"] }]")+action("restart", "")))
	cli.MustRun(t, "apply", "-auto-approve")
	refused(t, cli, "restart", "Error: Deployment "+ns+"/trainer is not ready: config error",
		`Secret "missing" does not exist in namespace `+ns, "Next step: ",
		"Requested the restart of Deployment "+ns+"/trainer")
}

func TestAccActionInterruptedEndsAtOnceAndReportsWhatWasDone(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := cluster.Namespace(t)
	cli.Write(t, cluster.Config(ns, acctest.Compute("image = \"broken.invalid/never\"\non_not_ready = \"ignore\"")+
		action("restart", "")))
	cli.MustRun(t, "apply", "-auto-approve")

	command := cli.Command(t.Context(), "apply", "-auto-approve", "-no-color", "-invoke=action.kt_restart.x")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	cluster.WaitForOutput(t, "restartedAt", true, "get", "deployment/trainer", "-n", ns, "-o", "yaml")
	if err := syscall.Kill(-command.Process.Pid, syscall.SIGINT); err != nil { // as Ctrl-C does
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	select {
	case err := <-done:
		if err == nil {
			t.Errorf("an interrupted action reports success:\n%s", out.String())
		}
	case <-time.After(acctest.TimeToStop):
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		t.Fatalf("still running %s after SIGINT:\n%s", acctest.TimeToStop, out.String())
	}
	acctest.ExpectNoProcess(t, command.Process.Pid)
	acctest.ExpectText(t, out.String(), "The wait was interrupted.", "Done before this error:",
		"Requested the restart of Deployment "+ns+"/trainer")
}

func TestAccActionInputIsValidatedOffline(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	for attributes, text := range map[string]string{
		`name = "Trainer"`:                        `is "Trainer", but must be`,
		"":                                        "one (and only one) of [id,name] is required",
		`id = "trainer"`:                          "must be namespace/name",
		"id = \"ml/a\"\nnamespace = \"ml\"":       "cannot be specified when",
		"name = \"a\"\ntimeout = \"soon\"":        "Invalid duration",
		"name = \"a\"\ntimeout = \"0s\"":          "must be more than zero",
		"name = \"a\"\nreplicas = -1":             "at least 0",
		"name = \"a\"\nreplicas = 1.5":            "integer",
		"name = \"a\"\nnode = \"a_b\"":            "Invalid name",
		"name = \"a\"\nreplicas = 1\nwait = \"\"": "a bool is required",
	} {
		kind := "scale"
		switch {
		case strings.Contains(attributes, "node"):
			kind = "evacuate"
		case !strings.Contains(attributes, "replicas"):
			kind = "restart"
		}
		cli.Write(t, fmt.Sprintf("action \"kt_%s\" \"x\" {\n  config {\n%s\n  }\n}\n", kind, attributes))
		out, err := cli.Run(t, "validate")
		if err == nil {
			t.Errorf("%s is valid", attributes)
		}
		acctest.ExpectText(t, out, text)
	}
}
