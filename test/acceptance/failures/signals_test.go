package failures_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// A terminal sends SIGINT to the provider as well, and CI systems send SIGTERM.
func TestAccSignalsInterruptedWaitEndsAtOnceWithStateSaved(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endsAtOnceWithStateSaved(t, signal)
		})
	}
}

func endsAtOnceWithStateSaved(t *testing.T, signal syscall.Signal) {
	t.Helper()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	// Nothing is wrong with this compute that could end the wait early.
	cli.Write(t, cluster.Config(ns, acctest.Compute(`image = "broken.invalid/never"`)))

	command := cli.Command(t.Context(), "apply", "-auto-approve", "-no-color")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	waitForPods(t, ns, 1)
	if err := syscall.Kill(-command.Process.Pid, signal); err != nil {
		t.Fatal(err)
	}
	signalled := time.Now()
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	select {
	case err := <-done:
		t.Logf("ended %s after the signal", time.Since(signalled).Round(time.Millisecond))
		if err == nil {
			t.Errorf("an interrupted apply reports success:\n%s", out.String())
		}
	case <-time.After(acctest.TimeToStop):
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		t.Fatalf("still running %s after the signal:\n%s", acctest.TimeToStop, out.String())
	}
	acctest.ExpectNoProcess(t, command.Process.Pid)
	if !strings.Contains(strings.ToLower(out.String()), "interrupted") {
		t.Errorf("the error does not report the interruption:\n%s", out.String())
	}
	state := cli.State(t)
	if len(state) != 1 || state[0].Status != "" || state[0].Attributes.Ready || state[0].Attributes.UID == "" {
		t.Errorf("the state is %+v, want the compute, not tainted and not ready", state)
	}
	if action := planned(t, cli, acctest.Trainer); action != "update" {
		t.Errorf("the next plan has the action %q, want an update that waits again", action)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

func TestAccSignalsKilledApplyIsFinishedByTheNextOne(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	const count = 6
	cli.Write(t, cluster.Config(ns, fmt.Sprintf(`
resource "kt_compute" "pool" {
  count          = %d
  name           = "pool-${count.index}"
  cpus           = "100m"
  image          = "broken.invalid/slow"
  launch_timeout = "2m"
}`, count)))

	command := cli.Command(t.Context(), "apply", "-auto-approve", "-no-color", "-parallelism=3")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the provider is killed with it
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	waitForPods(t, ns, 2)
	if err := syscall.Kill(-command.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // it was killed, so its status has no meaning
	acctest.ExpectNoProcess(t, command.Process.Pid)
	before := uids(t, ns)

	cli.RecoverState(t, nil)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	after := uids(t, ns)
	if len(after) != count {
		t.Errorf("there are %d Deployments, want %d: %v", len(after), count, after)
	}
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("Deployment %s of the killed run was replaced, not finished", name)
		}
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

func TestAccSignalsProviderEndsWhenItsTerraformWasKilled(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	cli.Write(t, cluster.Config(ns, acctest.Compute(`image = "broken.invalid/never"`)))
	command := cli.Command(t.Context(), "apply", "-auto-approve", "-no-color")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	waitForPods(t, ns, 1)
	if err := command.Process.Kill(); err != nil { // Terraform alone: it can tell its provider nothing
		t.Fatal(err)
	}
	_ = command.Wait() // it was killed, so its status has no meaning
	acctest.ExpectNoProcess(t, command.Process.Pid)
	cluster.Kubectl(t, "delete", "deployments,services", "--all", "-n", ns, "--wait=false")
}

// waitForPods waits until there are that many pods.
func waitForPods(t *testing.T, namespace string, count int) {
	t.Helper()
	acctest.WaitUntil(t, fmt.Sprintf("%d pods", count), func() bool {
		return len(strings.Fields(cluster.Kubectl(t, "get", "pods", "-n", namespace, "-o", "name"))) >= count
	})
}

func uids(t *testing.T, namespace string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(cluster.Kubectl(t, "get", "deployments", "-n", namespace,
		"-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{"\n"}{end}`)) {
		if name, uid, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			out[name] = uid
		}
	}
	return out
}

// The plugin is in no process group of the shell, and starts a process that does not end with it.
func TestAccSignalsHangingCredentialPluginEndsWithTheRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plugin := filepath.Join(dir, "plugin.sh")
	script := "#!/bin/sh\ncd '" + dir + "'\nsleep 1000 &\necho $$ $! >started\nmv started processes\nwait\n"
	if err := os.WriteFile(plugin, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cli := acctest.NewCLI(t)
	cli.Write(t, fmt.Sprintf(`
provider "kt" {
  host     = "https://127.0.0.1:1"
  insecure = true
  exec     = { api_version = "client.authentication.k8s.io/v1", command = %q }
}

resource "kt_volume" "v" {
  namespace = "ml"
  name      = "v"
  size      = "1Gi"
}
`, plugin))
	command := cli.Command(t.Context(), "plan", "-no-color")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var processes []string
	acctest.WaitUntil(t, "the plugin", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "processes"))
		processes = strings.Fields(string(text))
		return err == nil
	})
	if err := syscall.Kill(-command.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err == nil {
		t.Error("an interrupted plan reports success")
	}
	for _, process := range processes {
		id, err := strconv.Atoi(process)
		if err != nil {
			t.Fatal(err)
		}
		acctest.WaitUntil(t, "the end of process "+process, func() bool {
			return errors.Is(syscall.Kill(id, 0), syscall.ESRCH)
		})
	}
}
