package failures_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// scenario is a configuration with a compute for each failure, each in a separate
// namespace.
type scenario struct {
	cli        *acctest.CLI
	failures   []failure
	namespaces map[string]string
}

// newScenario creates the namespaces and the objects that exist before.
func newScenario(t *testing.T, failures []failure) scenario {
	t.Helper()
	s := scenario{cli: acctest.NewAttachedCLI(t), failures: failures, namespaces: map[string]string{}}
	for _, f := range failures {
		ns := cluster.Namespace(t)
		if f.noNamespace {
			ns += "-missing"
			t.Cleanup(func() { cluster.Kubectl(t, "delete", "namespace", ns, "--wait=false", "--ignore-not-found") })
		}
		s.namespaces[f.name] = ns
		if f.exists != "" {
			cluster.Apply(t, s.expand(f, f.exists), "-n", ns)
		}
		if strings.Contains(f.exists, "ValidatingAdmissionPolicy") {
			t.Cleanup(func() { removePolicies(t, ns) })
		}
	}
	waitForPolicies(t)
	return s
}

// waitForPolicies waits until the API server applies all existing policies. It
// creates another one and waits for that, because they take effect in order.
func waitForPolicies(t *testing.T) {
	t.Helper()
	ns := cluster.Namespace(t)
	cluster.Apply(t, strings.ReplaceAll(policy("probe", "", "v1", "configmaps", "false", "in force"), "<ns>", ns))
	defer removePolicies(t, ns)
	cluster.WaitForOutput(t, "in force", true, "create", "configmap", "probe", "-n", ns, "--dry-run=server")
}

func removePolicies(t *testing.T, ns string) {
	t.Helper()
	cluster.Kubectl(t, "delete", "validatingadmissionpolicies,validatingadmissionpolicybindings", "-l", "namespace="+ns)
}

// expand replaces <ns> in a text by the namespace of a failure.
func (s scenario) expand(f failure, text string) string {
	return strings.ReplaceAll(text, "<ns>", s.namespaces[f.name])
}

// texts returns the texts that the diagnostic of a failure contains.
func (s scenario) texts(f failure) []string {
	var out []string
	for _, text := range f.texts {
		out = append(out, s.expand(f, text))
	}
	return out
}

// run runs a Terraform command with these attributes of each compute.
func (s scenario) run(t *testing.T, command string, attributes func(failure) string) acctest.Result {
	t.Helper()
	var b strings.Builder
	for _, f := range s.failures {
		b.WriteString(waiting(f.name, s.namespaces[f.name], attributes(f)))
	}
	s.cli.Write(t, cluster.Config("default", b.String()))
	args := []string{command, "-parallelism=50"}
	if command != "plan" {
		args = append(args, "-auto-approve")
	}
	return s.cli.RunJSON(t, args...)
}

// mustRun is run for a command that must not fail.
func (s scenario) mustRun(t *testing.T, command string, attributes func(failure) string) acctest.Result {
	t.Helper()
	a := s.run(t, command, attributes)
	if a.Failed {
		t.Fatalf("%s failed:\n%s", command, a)
	}
	return a
}

// waiting returns the configuration of a compute with AmpleTimeout.
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

// deployments returns the Deployments of the computes, by name.
func (s scenario) deployments(t *testing.T) map[string]deployed {
	t.Helper()
	out := map[string]deployed{}
	for line := range strings.Lines(cluster.Kubectl(t, "get", "deployments", "-A",
		"-o", `jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name} {.metadata.uid}{"\n"}{end}`)) {
		if fields := strings.Fields(line); len(fields) == 3 && s.namespaces[fields[1]] == fields[0] {
			out[fields[1]] = deployed{uid: fields[2]}
		}
	}
	return out
}

// inState is the expected state of a compute.
type inState struct{ absent, tainted, ready bool }

// stored is a compute in state.
type stored struct {
	exists, tainted, ready bool
	uid                    string
}

// state returns the computes in the state file, by name. The file must not contain Canary.
func (s scenario) state(t *testing.T) map[string]stored {
	t.Helper()
	data, err := os.ReadFile(s.cli.StateFile())
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if strings.Contains(string(data), acctest.Canary) {
		t.Error("the state contains the value of a Secret")
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

// check compares the state of a compute with its Deployment and the expected state.
func (s scenario) check(t *testing.T, f failure, cluster map[string]deployed, want inState) {
	t.Helper()
	got, deployment := s.state(t)[f.name], cluster[f.name]
	expected := stored{exists: !want.absent, tainted: want.tainted && !want.absent, ready: want.ready,
		uid: deployment.uid}
	if got != expected {
		t.Errorf("%s: the state is %+v, want %+v", f.name, got, expected)
	}
}
