package drift_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The step `Plan` of the workflow in the guide about CI writes the exit code of the plan, and the drift with its
// author.
func TestAccTheWorkflowOfTheGuideReportsDrift(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	cli.Write(t, cluster.Config(ns, acctest.BareCompute("cpus = 1")))
	cli.MustRun(t, "apply", "-auto-approve")
	defer cli.MustRun(t, "destroy", "-auto-approve")
	script := planStep(t)
	run := func() (code, plan string) {
		t.Helper()
		env := filepath.Join(t.TempDir(), "env")
		command := cli.Command(t.Context())
		path := binDir(t, command.Path) + string(filepath.ListSeparator) + os.Getenv("PATH")
		shell := exec.CommandContext(t.Context(), "bash", "-e", "-c", script)
		shell.Dir, shell.Env = cli.Dir, slices.Concat(command.Env, []string{"GITHUB_ENV=" + env, "PATH=" + path})
		if out, err := shell.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return read(t, env), read(t, filepath.Join(cli.Dir, "plan.txt"))
	}
	if code, plan := run(); code != "code=0\n" {
		t.Errorf("without drift: %q\n%s", code, plan)
	}
	cluster.Kubectl(t, "patch", "deployment/trainer", "-n", ns, "--field-manager=alice",
		"-p", `{"spec":{"replicas":0}}`)
	code, plan := run()
	if code != "code=2\n" {
		t.Errorf("with drift: %q", code)
	}
	acctest.ExpectText(t, plan, "Deployment "+ns+"/trainer", "spec.replicas: changed by alice")
}

// planStep returns the script of the step.
func planStep(t *testing.T) string {
	t.Helper()
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run string }
		}
	}
	text := read(t, filepath.Join(acctest.Root(), "examples", "guides", "ci", "drift-workflow.yaml"))
	if err := yaml.Unmarshal([]byte(text), &workflow); err != nil {
		t.Fatal(err)
	}
	for _, step := range workflow.Jobs["plan"].Steps {
		if step.Name == "Plan" {
			return step.Run
		}
	}
	t.Fatal("the workflow has no step Plan")
	return ""
}

// binDir returns a directory in which the name terraform is the CLI of the tests.
func binDir(t *testing.T, cli string) string {
	t.Helper()
	path, err := filepath.Abs(cli)
	dir := t.TempDir()
	if err == nil {
		err = os.Symlink(path, filepath.Join(dir, "terraform"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
