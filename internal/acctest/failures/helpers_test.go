package failures_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// lab is one configuration with a compute for each failure, each in a
// namespace of its own.
type lab struct {
	cli        *acctest.CLI
	failures   []failure
	namespaces map[string]string
}

func newLab(t *testing.T, failures []failure) lab {
	t.Helper()
	l := lab{cli: acctest.NewCLI(t), failures: failures, namespaces: map[string]string{}}
	for _, f := range failures {
		ns := cluster.Namespace(t)
		if f.homeless {
			ns += "-missing"
			t.Cleanup(func() { cluster.Kubectl(t, "delete", "namespace", ns, "--wait=false", "--ignore-not-found") })
		}
		l.namespaces[f.name] = ns
		if f.exists != "" {
			cluster.Apply(t, l.in(f, f.exists), "-n", ns)
		}
		if strings.Contains(f.exists, "ValidatingAdmissionPolicy") {
			t.Cleanup(func() { removePolicies(t, ns) })
		}
	}
	waitForPolicies(t)
	return l
}

// waitForPolicies waits until the policies that were made up to now are in
// force: a further one is, and the API server learns of them in order.
func waitForPolicies(t *testing.T) {
	t.Helper()
	ns := cluster.Namespace(t)
	cluster.Apply(t, strings.ReplaceAll(policy("probe", "", "v1", "configmaps", "false", "in force"), "<ns>", ns))
	defer removePolicies(t, ns)
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) {
			out, err := cluster.TryKubectl(t, "create", "configmap", "probe", "-n", ns, "--dry-run=server")
			return err != nil && strings.Contains(out, "in force"), nil
		})
	if err != nil {
		t.Fatal(err)
	}
}

func removePolicies(t *testing.T, ns string) {
	t.Helper()
	cluster.Kubectl(t, "delete", "validatingadmissionpolicies,validatingadmissionpolicybindings", "-l", "namespace="+ns)
}

// in puts the namespace of a failure into a text.
func (l lab) in(f failure, text string) string {
	return strings.ReplaceAll(text, "<ns>", l.namespaces[f.name])
}

// all is what the error of a failure says.
func (l lab) all(f failure) []string {
	var out []string
	for _, text := range f.says {
		out = append(out, l.in(f, text))
	}
	return out
}

// run runs a command of Terraform with the given attributes for each compute.
func (l lab) run(t *testing.T, command string, attributes func(failure) string) acctest.Result {
	t.Helper()
	var b strings.Builder
	for _, f := range l.failures {
		b.WriteString(waiting(f.name, l.namespaces[f.name], attributes(f)))
	}
	l.cli.Write(t, cluster.Config("default", b.String()))
	args := []string{command, "-parallelism=50"}
	if command != "plan" {
		args = append(args, "-auto-approve")
	}
	return l.cli.RunJSON(t, args...)
}

// succeeds is run where nothing may fail.
func (l lab) succeeds(t *testing.T, command string, attributes func(failure) string) acctest.Result {
	t.Helper()
	a := l.run(t, command, attributes)
	if a.Failed {
		t.Fatalf("%s failed:\n%s", command, a)
	}
	return a
}

// waiting is a compute that is waited for with patience.
func waiting(name, namespace, attributes string) string {
	return fmt.Sprintf(`
resource "kt_compute" %[1]q {
  name           = %[1]q
  namespace      = %[2]q
  launch_timeout = %[3]q
  %[4]s
}
`, name, namespace, acctest.AmpleTimeout, attributes)
}

// deployed is a Deployment in the cluster.
type deployed struct{ uid string }

// inCluster are the Deployments of the lab, by name.
func (l lab) inCluster(t *testing.T) map[string]deployed {
	t.Helper()
	out := map[string]deployed{}
	for line := range strings.Lines(cluster.Kubectl(t, "get", "deployments", "-A",
		"-o", `jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name} {.metadata.uid}{"\n"}{end}`)) {
		if fields := strings.Fields(line); len(fields) == 3 && l.namespaces[fields[1]] == fields[0] {
			out[fields[1]] = deployed{uid: fields[2]}
		}
	}
	return out
}

// inState is what state should hold of a compute.
type inState struct{ absent, tainted, ready bool }

// stored is what state holds of a compute.
type stored struct {
	exists, tainted, ready bool
	uid                    string
}

// state is read from the state file, by name. No value of a Secret is in it.
func (l lab) state(t *testing.T) map[string]stored {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(l.cli.Dir, "terraform.tfstate"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if strings.Contains(string(data), acctest.Canary) {
		t.Error("the value of a Secret is in state")
	}
	var file struct {
		Resources []struct {
			Name      string             `json:"name"`
			Instances []acctest.Instance `json:"instances"`
		} `json:"resources"`
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]stored{}
	for _, r := range file.Resources {
		for _, i := range r.Instances {
			out[r.Name] = stored{exists: true, tainted: i.Status == "tainted", ready: i.Attributes.Ready,
				uid: i.Attributes.UID}
		}
	}
	return out
}

// agree checks that state is as it should be, and says of the cluster what is so.
func (l lab) agree(t *testing.T, f failure, cluster map[string]deployed, want inState) {
	t.Helper()
	got, deployment := l.state(t)[f.name], cluster[f.name]
	expected := stored{exists: !want.absent, tainted: want.tainted && !want.absent, ready: want.ready,
		uid: deployment.uid}
	if got != expected {
		t.Errorf("%s: state holds %+v, want %+v", f.name, got, expected)
	}
}
