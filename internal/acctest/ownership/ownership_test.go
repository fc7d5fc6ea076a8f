package ownership_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// kinds are the types of resources in everyKind.
func kinds() []string { return []string{"kt_volume", "kt_secret", "kt_image", "kt_compute"} }

func TestAccOwnershipASecondStateCannotAdoptObjectsOfTheFirst(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	first, second := acctest.NewCLI(t), acctest.NewCLI(t)
	first.Write(t, cluster.Config(ns, ofEveryKind("it", "")))
	first.MustRun(t, "apply", "-auto-approve")
	if left := unfinished(t, ns); left != "" {
		t.Errorf("still marked as unfinished after the run: %s", left)
	}

	second.Write(t, cluster.Config(ns, ofEveryKind("other", "")))
	out, err := second.Run(t, "plan")
	if err == nil {
		t.Fatalf("the second state plans to create what the first one has:\n%s", out)
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

// The first state may be killed at any moment. What it was creating is then its
// own again, without an import.
func TestAccOwnershipAKilledCreationIsFinishedByTheNextApply(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	var config strings.Builder
	for i := range 3 {
		config.WriteString(strings.ReplaceAll(ofEveryKind(fmt.Sprintf("it%d", i), ""), `"same"`,
			fmt.Sprintf(`"same-%d"`, i)))
	}
	cli.Write(t, cluster.Config(ns, config.String()))

	var seen map[string]string
	for _, objects := range []int{1, 3, 5, 8, 11} {
		killAtObjects(t, cli, ns, objects)
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
		t.Errorf("still marked as unfinished: %s", left)
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

// Terraform that is interrupted twice ends without waiting for what it creates,
// and still stops the provider in order.
func TestAccOwnershipACreationThatIsInterruptedTwiceIsFinishedByTheNextApply(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	cli.Write(t, cluster.Config(ns, ofEveryKind("it", "")))
	endAtObjects(t, cli, ns, 2, func(command *exec.Cmd) {
		for range 2 {
			_ = syscall.Kill(-command.Process.Pid, syscall.SIGINT) // it may have ended
		}
	})
	seen := uidsOfAll(t, ns)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	after := uidsOfAll(t, ns)
	for name, uid := range seen {
		// one whose creation was interrupted is tainted
		if after[name] != uid && !strings.HasPrefix(name, "Deployment/") {
			t.Errorf("%s of an interrupted run was replaced, not finished", name)
		}
	}
	if left := unfinished(t, ns); left != "" {
		t.Errorf("still marked as unfinished: %s", left)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
	if left := objectsLeft(t, ns); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// killAtObjects runs an apply, and kills Terraform and then its provider once
// there are that many objects, or at the end of the run.
func killAtObjects(t *testing.T, cli *acctest.CLI, ns string, objects int) {
	t.Helper()
	endAtObjects(t, cli, ns, objects, func(command *exec.Cmd) {
		_ = command.Process.Kill() // it may have ended
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	})
}

// endAtObjects runs an apply, and ends it once there are that many objects.
func endAtObjects(t *testing.T, cli *acctest.CLI, ns string, objects int, end func(*exec.Cmd)) {
	t.Helper()
	file := filepath.Join(cli.Dir, "terraform.tfstate")
	before, _ := os.ReadFile(file) // there is none before the first run
	command := cli.Command(t.Context(), "apply", "-auto-approve", "-no-color", "-parallelism=2")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to find the provider by its group
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = command.Wait() // it was ended: its status says nothing
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
	_ = os.Remove(filepath.Join(cli.Dir, ".terraform.tfstate.lock.info")) // as `terraform force-unlock` would
	// Terraform writes local state in place: killed in the middle of that, it leaves an empty file. What was in
	// state before is then for its user to restore.
	if now, err := os.ReadFile(file); err == nil && !json.Valid(now) && len(before) > 0 {
		t.Logf("the kill left %d bytes of state; restoring what was there before", len(now))
		if err := os.WriteFile(file, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A run that was killed after Terraform had written the state leaves marks that
// nobody needs. The next run removes them.
func TestAccOwnershipTheNextRunRemovesMarksOfObjectsInState(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	cli.Write(t, cluster.Config(ns, ofEveryKind("it", "")))
	cli.MustRun(t, "apply", "-auto-approve")
	for _, object := range []string{"persistentvolumeclaim/same", "secret/same", "configmap/kt-image-same",
		"deployment/same"} {
		cluster.Kubectl(t, "annotate", object, "kt.dev/unfinished=x", "-n", ns, "--field-manager=terraform-provider-kt")
	}
	// Only what the provider itself applied counts, so another state is still refused.
	second := acctest.NewCLI(t)
	second.Write(t, cluster.Config(ns, ofEveryKind("other", "")))
	if out, err := second.Run(t, "plan"); err == nil {
		t.Errorf("an annotation that was not applied by the provider counts:\n%s", out)
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

// uidsOfAll are the UIDs of the objects of every kind.
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
