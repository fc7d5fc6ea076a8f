package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// program is the binary of the image of a server of one's own.
const program = "/tensor-server"

// tasks is a compute with a server that logs its start, and with a Secret in its environment.
const tasks = `
provider "kt" {}
resource "kt_secret" "token" {
  name   = "token"
  values = { TOKEN = "s3cr3t-value-of-the-token" }
}
resource "kt_compute" "server" {
  name     = "server"
  replicas = 2
  strategy = "RollingUpdate"
  image    = "` + serverOfOnesOwn + `"
  args     = ["-port", "8080"]
  port     = 8080
  secrets  = [{ name = kt_secret.token.name, env_vars = ["TOKEN"] }]
  limits   = { memory = "64Mi" }

  health_path    = "/health"
  launch_timeout = "5m"
` + onRealNode + `
  lifecycle {
    # TRIGGER
  }
}
`

// action returns an action on this compute.
func action(kind, name, attributes string) string {
	return "action \"" + kind + "\" \"" + name + "\" {\n  config {\n    id = kt_compute.server.id\n" + attributes +
		"\n  }\n}\n"
}

// task returns the command that runs a task in the image.
func task(args ...string) string {
	return `command = ["` + strings.Join(append([]string{program, "task"}, args...), `", "`) + `"]`
}

// applied applies a configuration of the compute with actions. It skips the test if the CLI has none.
func applied(t *testing.T, version string, config ...string) (cli *acctest.CLI, namespace string) {
	t.Helper()
	acctest.RequireTerraform(t, version)
	cli, namespace = terraform(t)
	cli.Write(t, strings.Join(config, "\n"))
	cli.MustRun(t, "apply", "-auto-approve")
	return cli, namespace
}

func invoke(t *testing.T, cli *acctest.CLI, action string) (string, error) {
	t.Helper()
	out, err := cli.Run(t, "apply", "-auto-approve", "-invoke", "action."+action)
	_, out, _ = strings.Cut(out, "Action started") // without the plan
	return out, err
}

func TestE2EActionsShowTheOutputOfRealPods(t *testing.T) {
	t.Parallel()
	cli, ns := applied(t, "1.14", tasks,
		action("kt_run", "greet", task("-print", `hello $TOKEN\\nline two`, "-warn", "a warning")),
		action("kt_run", "all", `pods = "all"`+"\n"+task("-print", "hello")),
		action("kt_run", "fail", task("-print", "before the failure", "-exit", "7")),
		action("kt_run", "missing", `command = ["/no-such-program"]`),
		action("kt_logs", "now", `duration = "0"`),
		action("kt_run", "job", task("-print", "job $MODE $TOKEN $KEY")+"\n"+
			`mask_values = ["key-of-the-configuration"]
			job = { env_vars = { MODE = "alone", KEY = "key-of-the-configuration" } }`),
		action("kt_run", "failing_job", task("-print", "in the job", "-exit", "3")+"\n job = {}"),
		action("kt_run", "greedy_job", task("-allocate")+"\n job = {}"),
	)
	names := strings.Fields(strings.ReplaceAll(pods(t, ns), "pod/", ""))
	for name, test := range map[string]struct {
		fails bool
		want  []string
	}{
		"kt_run.greet": {want: []string{"hello (hidden)", "line two", "Command exited with 0 in pod " + names[0]}},
		"kt_run.all": {want: []string{names[0] + ": hello", names[1] + ": hello",
			"Command exited with 0 in pod " + names[0], "Command exited with 0 in pod " + names[1]}},
		"kt_run.fail": {true, []string{"Error: Command exited with 7 in pod " + names[0], "before the failure"}},
		"kt_run.missing": {true, []string{"Cannot start the command in pod",
			"/no-such-program: no such file or directory"}},
		"kt_logs.now": {want: []string{names[0] + ": ", names[1] + ": ", "listening on port 8080",
			"2 lines of 2 containers in 2 pods"}},
		"kt_run.job": {want: []string{"Created Job server-run-", "job alone (hidden) (hidden)",
			"Command exited with 0 in pod server-run-", "Deleted Job server-run-"}},
		"kt_run.failing_job": {true, []string{"Error: Command exited with 3 in pod server-run-", "in the job",
			"Deleted Job server-run-"}},
		"kt_run.greedy_job": {true, []string{"exceeded its memory limit (OOMKilled)", "Increase `limits`"}},
	} {
		out, err := invoke(t, cli, name)
		if (err != nil) != test.fails {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range test.want {
			if !strings.Contains(unwrapped(out), want) {
				t.Errorf("%s does not show %q:\n%s", name, want, out)
			}
		}
		if strings.Contains(out, "s3cr3t") {
			t.Errorf("%s shows the value of a Secret:\n%s", name, out)
		}
	}
	cluster.Kubectl(t, "wait", "-n", ns, "--for=delete", "jobs", "--all", "--timeout=60s")
}

// invocation is an action that runs.
type invocation struct {
	t    *testing.T
	pid  int
	done chan error

	mu   sync.Mutex
	text bytes.Buffer
}

func (i *invocation) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.text.Write(p)
}

func (i *invocation) output() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.text.String()
}

// start starts an action, and returns when its output contains a text.
func start(t *testing.T, cli *acctest.CLI, action, until string) *invocation {
	t.Helper()
	i := &invocation{t: t, done: make(chan error, 1)}
	command := cli.Command(t.Context(), "apply", "-auto-approve", "-no-color", "-invoke", "action."+action)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does
	command.Stdout, command.Stderr = i, i
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	i.pid = command.Process.Pid
	go func() { i.done <- command.Wait() }()
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(i.output(), until); {
		if time.Now().After(deadline) {
			t.Fatalf("%q is not shown:\n%s", until, i.output())
		}
		time.Sleep(100 * time.Millisecond)
	}
	return i
}

// fails waits for the end of the action, which must fail with texts in its output.
func (i *invocation) fails(within time.Duration, want ...string) {
	i.t.Helper()
	if err := i.end(within); err == nil {
		i.t.Errorf("the action succeeded:\n%s", i.output())
	}
	for _, want := range want {
		if !strings.Contains(unwrapped(i.output()), want) {
			i.t.Errorf("the output does not contain %q:\n%s", want, i.output())
		}
	}
}

// end waits for the end of the action, and returns its error.
func (i *invocation) end(within time.Duration) error {
	i.t.Helper()
	select {
	case err := <-i.done:
		acctest.ExpectNoProcess(i.t, i.pid)
		return err
	case <-time.After(within):
		_ = syscall.Kill(-i.pid, syscall.SIGKILL)
		i.t.Fatalf("still running after %v:\n%s", within, i.output())
		return nil
	}
}

func (i *invocation) interrupt() {
	i.t.Helper()
	if err := syscall.Kill(-i.pid, syscall.SIGINT); err != nil { // as Ctrl-C does
		i.t.Fatal(err)
	}
}

func TestE2ERunReportsAnInterruption(t *testing.T) {
	t.Parallel()
	cli, ns := applied(t, "1.14", tasks,
		action("kt_run", "endless", task("-every", "1s")),
		action("kt_run", "endless_job", task("-every", "1s")+"\n job = {}"),
		action("kt_run", "slow", `timeout = "30s"`+"\n"+task("-every", "1s")),
	)
	i := start(t, cli, "kt_run.endless", "line 2")
	i.interrupt()
	i.fails(acctest.TimeToStop, "The command was interrupted", "may still be running in the pods")

	i = start(t, cli, "kt_run.endless_job", "line 2")
	i.interrupt()
	i.fails(acctest.TimeToStop, "The command was interrupted", "was deleted, which ends the command")
	cluster.Kubectl(t, "wait", "-n", ns, "--for=delete", "jobs", "--all", "--timeout=60s")

	out, err := invoke(t, cli, "kt_run.slow")
	if err == nil || !strings.Contains(unwrapped(out), "Timed out after 30s (`timeout`)") ||
		!strings.Contains(unwrapped(out), "may still be running in the pods") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestE2ERunReportsAPodThatEnds(t *testing.T) {
	t.Parallel()
	cli, ns := applied(t, "1.14", tasks,
		action("kt_run", "endless", task("-every", "1s")),
		action("kt_run", "greedy", task("-print", "allocating", "-allocate")),
		action("kt_run", "endless_job", task("-every", "1s")+"\n job = {}"),
		action("kt_logs", "follow", `duration = "2m"`),
	)
	i := start(t, cli, "kt_run.endless", "line 2")
	_, name, _ := strings.Cut(i.output(), "of pod ")
	name, _, _ = strings.Cut(name, ".\n")
	cluster.Kubectl(t, "delete", "pod", "-n", ns, name, "--wait=false")
	i.fails(time.Minute, "ended during the command", "the pod was deleted", "line 2")
	cluster.Kubectl(t, "rollout", "status", "-n", ns, "deployment/server")

	out, err := invoke(t, cli, "kt_run.greedy")
	if err == nil || !strings.Contains(out, "OOMKilled") && !strings.Contains(out, "137") {
		t.Errorf("%v:\n%s", err, out)
	}

	i = start(t, cli, "kt_run.endless_job", "line 2")
	cluster.Kubectl(t, "delete", "pod", "-n", ns, "-l", "batch.kubernetes.io/job-name", "--wait=false", "--force")
	i.fails(time.Minute, "the pod was deleted", "Deleted Job server-run-")

	cluster.Kubectl(t, "rollout", "status", "-n", ns, "deployment/server")
	i = start(t, cli, "kt_logs.follow", "listening on port 8080")
	names := strings.Fields(pods(t, ns))
	cluster.Kubectl(t, "delete", "-n", ns, names[0])
	want := strings.TrimPrefix(names[0], "pod/") + ": (the pod was deleted)"
	for deadline := time.Now().Add(time.Minute); strings.Count(i.output(), "listening on port 8080") < 3 ||
		!strings.Contains(i.output(), want); {
		if time.Now().After(deadline) {
			t.Fatalf("the new pod or the end of the old one is not shown:\n%s", i.output())
		}
		time.Sleep(100 * time.Millisecond)
	}
	i.interrupt()
	i.fails(acctest.TimeToStop, "kt_logs was interrupted")
}

func TestE2ECheckpointThatFailsKeepsTheComputeFromBeingDestroyed(t *testing.T) {
	t.Parallel()
	const trigger = `action_trigger {
      events  = [before_destroy]
      actions = [action.kt_checkpoint.save]
    }`
	config := strings.Replace(tasks, "# TRIGGER", trigger, 1) + "variable \"code\" { default = \"0\" }\n" +
		"variable \"on_failure\" { default = \"halt\" }\n"
	save := strings.Replace(action("kt_checkpoint", "save", "on_failure = var.on_failure\n"+
		task("-print", "saving", "-exit", "CODE")), `"CODE"`, "var.code", 1)
	save = strings.Replace(save, "kt_compute.server.id", "caller.id", 1) // a reference would be a cycle
	cli, ns := applied(t, "1.16", config, save)

	out, err := cli.Run(t, "destroy", "-auto-approve", "-var", "code=5")
	if err == nil || !strings.Contains(out, "exited with 5") || !strings.Contains(out, "saving") {
		t.Errorf("%v:\n%s", err, out)
	}
	if left := pods(t, ns, "--field-selector=status.phase=Running"); strings.Count(left, "server-") != 2 {
		t.Errorf("running after the failed checkpoint: %s", left)
	}
	out = cli.MustRun(t, "destroy", "-auto-approve", "-var", "code=5", "-var", "on_failure=continue",
		"-target", "kt_compute.server")
	expectInOrder(t, out, "saving", "Destruction complete", "Checkpoint failed", "exited with 5")
	cli.MustRun(t, "apply", "-auto-approve")
	out = cli.MustRun(t, "destroy", "-auto-approve")
	expectInOrder(t, out, "saving", "Checkpoint of 2 pods completed", "Destruction complete")
}

// expectInOrder checks that a text contains parts, one after the other.
func expectInOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := unwrapped(text)
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Errorf("the output does not contain %q in order:\n%s", part, text)
			return
		}
		rest = after
	}
}

func TestE2EActionExamples(t *testing.T) {
	t.Parallel()
	acctest.RequireTerraform(t, "1.16")
	replacer := strings.NewReplacer(
		`"registry.example.com/trainer:1"`, `"`+serverOfOnesOwn+`"`+onRealNode,
		`"1"`, `"100m"`,
		`["/app/train"]`, `["`+program+`", "-port", "8080"]`,
		`["df", "-h", "/data"]`, `["`+program+`", "task", "-print", "12 GiB"]`,
		`["sh", "-c", "rm -rf \"$CACHE_DIR\"/*"]`, `["`+program+`", "task", "-print", "removed"]`,
		`["/app/migrate", "--to", "latest"]`, `["`+program+`", "task", "-print", "$LOG_LEVEL"]`,
		`["/app/save", "--to", "/data/checkpoints"]`, `["`+program+`", "task", "-print", "saved"]`,
		`"1m"`, `"15s"`,
	)
	for name, test := range map[string]struct {
		applied   string            // text in the output of the apply
		invoked   map[string]string // text in the output of each action
		destroyed string
	}{
		"kt_run": {invoked: map[string]string{"kt_run.disk_usage": "12 GiB", "kt_run.clear_cache": "removed",
			"kt_run.migrate": "debug"}},
		"kt_logs": {applied: "listening on port 8080",
			invoked: map[string]string{"kt_logs.crash": "No container has a previous run"}},
		"kt_checkpoint": {destroyed: "saved"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli, _ := terraform(t)
			text, err := os.ReadFile(filepath.Join(acctest.Root(), "examples", "actions", name, "action.tf"))
			if err != nil {
				t.Fatal(err)
			}
			cli.Write(t, "provider \"kt\" {}\n"+replacer.Replace(string(text)))
			expectInOrder(t, cli.MustRun(t, "apply", "-auto-approve"), test.applied)
			for action, want := range test.invoked {
				out, err := cli.Run(t, "apply", "-auto-approve", "-invoke", "action."+action)
				if err != nil {
					t.Errorf("%s: %v", action, err)
				}
				expectInOrder(t, out, want)
			}
			expectInOrder(t, cli.MustRun(t, "destroy", "-auto-approve"), test.destroyed)
		})
	}
}
