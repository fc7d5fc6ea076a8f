package ownership_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// kinds returns the types of the resources in everyKind.
func kinds() []string { return []string{"kt_volume", "kt_secret", "kt_image", "kt_compute"} }

func TestAccOwnershipASecondStateCannotAdoptObjectsOfTheFirst(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	first, second := acctest.NewAttachedCLI(t), acctest.NewCLI(t)
	first.Write(t, cluster.Config(ns, ofEveryKind("it", "")))
	first.MustRun(t, "apply", "-auto-approve")
	first.MustRun(t, "plan", "-detailed-exitcode") // completes what a busy machine has left unfinished
	if left := unfinished(t, ns); left != "" {
		t.Errorf("objects are still marked as unfinished: %s", left)
	}

	second.Write(t, cluster.Config(ns, ofEveryKind("other", "")))
	out, err := second.Run(t, "plan")
	if err == nil {
		t.Fatalf("the plan of the second state creates objects of the first state:\n%s", out)
	}
	for _, kind := range kinds() {
		acctest.ExpectText(t, out, kind+".other", "to = "+kind+".NAME")
	}
	acctest.ExpectText(t, out, "belongs to another resource", fmt.Sprintf("id = %q", ns+"/same"),
		"adopt_existing = true", "another name")
	if got := strings.Count(out, "belongs to another resource"); got != len(kinds()) {
		t.Errorf("%d errors, want one for each of %v:\n%s", got, kinds(), out)
	}

	var imports strings.Builder
	for _, kind := range kinds() {
		fmt.Fprintf(&imports, "import {\n  to = %s.other\n  id = %q\n}\n", kind, ns+"/same")
	}
	second.Write(t, cluster.Config(ns, ofEveryKind("other", "")+imports.String()))
	second.MustRun(t, "plan")

	second.Write(t, cluster.Config(ns, ofEveryKind("other", "  adopt_existing = true\n")))
	second.MustRun(t, "plan")

	first.MustRun(t, "plan", "-detailed-exitcode")
	first.MustRun(t, "destroy", "-auto-approve")
	if left := objectsLeft(t, ns); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// Terraform and the provider may be killed at any moment. The next apply recognizes
// the objects of the unfinished creation without an import.
func TestAccOwnershipTheNextApplyFinishesAKilledCreation(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	var config strings.Builder
	for i := range 3 {
		config.WriteString(strings.ReplaceAll(ofEveryKind(fmt.Sprintf("it%d", i), ""), `"same"`,
			fmt.Sprintf(`"same-%d"`, i)))
	}
	cli.Write(t, cluster.Config(ns, config.String()))

	var seen map[string]string
	for _, objects := range []int{1, 3, 5, 8, 11} {
		killAtObjects(t, cli, ns, objects)
		if seen == nil {
			other := acctest.NewAttachedCLI(t) // another state would continue the creation too, and the plan says it
			other.Write(t, cluster.Config(ns, config.String()))
			if out := other.MustRun(t, "plan"); !strings.Contains(out, "A run that was interrupted created it") {
				t.Errorf("no warning of an unfinished creation:\n%s", out)
			}
		}
		now := uidsOfAll(t, ns)
		for name, uid := range seen {
			if now[name] != uid {
				t.Errorf("%s of a killed run was replaced, not finished", name)
			}
		}
		seen = now
	}
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	if left := unfinished(t, ns); left != "" {
		t.Errorf("objects are still marked as unfinished: %s", left)
	}
	after := uidsOfAll(t, ns)
	for name, uid := range seen {
		if after[name] != uid {
			t.Errorf("%s of a killed run was replaced, not finished", name)
		}
	}
	cli.MustRun(t, "destroy", "-auto-approve")
	if left := objectsLeft(t, ns); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// After a second interrupt, Terraform exits without waiting for the creations, but
// still shuts down the provider.
func TestAccOwnershipTheNextApplyFinishesACreationThatWasInterruptedTwice(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, ofEveryKind("it", "")))
	endAtObjects(t, cli, ns, 2, func(command *exec.Cmd) {
		for range 2 {
			_ = syscall.Kill(-command.Process.Pid, syscall.SIGINT) // it may have exited
		}
	})
	seen := uidsOfAll(t, ns)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	after := uidsOfAll(t, ns)
	for name, uid := range seen {
		// a resource whose creation was interrupted is tainted
		if after[name] != uid && !strings.HasPrefix(name, "Deployment/") {
			t.Errorf("%s of an interrupted run was replaced, not finished", name)
		}
	}
	if left := unfinished(t, ns); left != "" {
		t.Errorf("objects are still marked as unfinished: %s", left)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
	if left := objectsLeft(t, ns); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// killAtObjects runs an apply. It kills Terraform and then the provider as soon as
// the given number of objects exists, or at the end of the run.
func killAtObjects(t *testing.T, cli *acctest.CLI, ns string, objects int) {
	t.Helper()
	endAtObjects(t, cli, ns, objects, func(command *exec.Cmd) {
		_ = command.Process.Kill() // it may have exited
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	})
}

// endAtObjects runs an apply, and ends it as soon as the given number of objects
// exists.
func endAtObjects(t *testing.T, cli *acctest.CLI, ns string, objects int, end func(*exec.Cmd)) {
	t.Helper()
	before, _ := os.ReadFile(cli.StateFile()) // the file does not exist before the first run
	command := cli.Command(t.Context(), "apply", "-auto-approve", "-no-color", "-parallelism=2")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to find the provider by its group
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = command.Wait() // it was killed: its exit status is irrelevant
		close(done)
	}()
	for running := true; running && len(strings.Fields(objectsLeft(t, ns))) < objects; {
		select {
		case <-done:
			running = false
		default:
		}
	}
	end(command)
	<-done
	acctest.ExpectNoProcess(t, command.Process.Pid)
	cli.RecoverState(t, before)
}

// If a run is killed after Terraform wrote the state, obsolete marks are left. The
// next run removes them.
func TestAccOwnershipTheNextRunRemovesMarksOfObjectsInState(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, ofEveryKind("it", "")))
	cli.MustRun(t, "apply", "-auto-approve")
	for _, object := range []string{"persistentvolumeclaim/same", "secret/same", "configmap/kt-image-same",
		"deployment/same"} {
		cluster.Kubectl(t, "annotate", object, "kt.dev/unfinished=x", "-n", ns, "--field-manager=terraform-provider-kt")
	}
	// The provider ignores an annotation that another manager set: another state is still refused.
	second := acctest.NewAttachedCLI(t)
	second.Write(t, cluster.Config(ns, ofEveryKind("other", "")))
	if out, err := second.Run(t, "plan"); err == nil {
		t.Errorf("the plan succeeded with an annotation that the provider did not apply:\n%s", out)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// unfinished lists the objects that are marked as unfinished.
func unfinished(t *testing.T, ns string) string {
	t.Helper()
	return cluster.Kubectl(t, "get", "persistentvolumeclaims,secrets,configmaps,deployments,services", "-n", ns,
		"-o", `jsonpath={range .items[?(@.metadata.annotations.kt\.dev/unfinished)]}{.kind}/{.metadata.name} {end}`)
}

// uidsOfAll returns the UIDs of the objects of everyKind.
func uidsOfAll(t *testing.T, ns string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(cluster.Kubectl(t, "get",
		"persistentvolumeclaims,secrets,configmaps,deployments,services", "-n", ns,
		"-l", "app.kubernetes.io/managed-by=terraform-provider-kt",
		"-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid}{"\n"}{end}`)) {
		if name, uid, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			out[name] = uid
		}
	}
	return out
}
