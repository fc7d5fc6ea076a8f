package failures_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

const keepingPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [%[2]s], operations: [DELETE]}
  failurePolicy: Fail
  validations: [{expression: "false", message: "deletions are frozen"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`

// refuseDeletion makes the API server reject the deletion of objects of a resource
// in a namespace, such as the object named one, until the returned function is called.
func refuseDeletion(t *testing.T, ns, resource, one string) (allow func()) {
	t.Helper()
	cluster.Apply(t, fmt.Sprintf(keepingPolicy, ns, resource))
	drop := func() {
		cluster.Kubectl(t, "delete", "validatingadmissionpolicy/"+ns, "validatingadmissionpolicybinding/"+ns,
			"--ignore-not-found")
	}
	t.Cleanup(drop)
	probe := []string{"delete", resource, one, "-n", ns, "--dry-run=server"}
	cluster.WaitForOutput(t, "deletions are frozen", true, probe...)
	return func() {
		t.Helper()
		drop()
		cluster.WaitForOutput(t, "deletions are frozen", false, probe...)
	}
}

// An update that no longer wants an object, and may not delete it yet, keeps it in
// state, so that the next apply deletes it.
func TestAccComputeStateKeepsObjectsThatWereNotDeleted(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	headless := func() string {
		return cluster.Kubectl(t, "get", "services", "-n", ns, "-o", "name",
			"--field-selector=metadata.name=trainer-headless")
	}
	key := "Service/" + ns + "/trainer-headless"
	inState := func() bool { return strings.Contains(cli.MustRun(t, "show", "-json"), `"`+key+`"`) }
	// The memory has the UID, without which another object of that name would do.
	inMemory := func() bool { return len(remembered(t, cli)[key]) > 0 }
	const quiet = "\non_not_ready = \"ignore\""
	cli.Write(t, cluster.Config(ns, acctest.Compute(`distribute = { type = "pytorch", workers = 2 }`+quiet)))
	cli.MustRun(t, "apply", "-auto-approve")
	if headless() == "" || !inState() || !inMemory() {
		t.Fatal("a distributed compute has no headless Service")
	}
	allow := refuseDeletion(t, ns, "services", "trainer-headless")
	cli.Write(t, cluster.Config(ns, acctest.Compute(quiet)))
	out, err := cli.Run(t, "apply", "-auto-approve")
	if err == nil {
		t.Fatalf("the apply succeeded although the Service may not be deleted:\n%s", out)
	}
	acctest.ExpectText(t, out, "deletions are frozen")
	if headless() == "" || !inState() || !inMemory() {
		t.Errorf("in the cluster: %q, in state: %t, in memory: %t", headless(), inState(), inMemory())
	}
	allow()
	cli.MustRun(t, "apply", "-auto-approve")
	if headless() != "" || inState() || inMemory() {
		t.Errorf("after the next apply, in the cluster: %q, in state: %t, in memory: %t", headless(), inState(),
			inMemory())
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// remembered is what the private part of the state holds of the objects of the
// only resource.
func remembered(t *testing.T, cli *acctest.CLI) map[string]json.RawMessage {
	t.Helper()
	var state struct {
		Resources []struct {
			Instances []struct{ Private []byte }
		}
	}
	if err := json.Unmarshal([]byte(cli.MustRun(t, "state", "pull")), &state); err != nil {
		t.Fatal(err)
	}
	applied := map[string]json.RawMessage{}
	for _, instance := range state.Resources[0].Instances {
		var values map[string][]byte
		if err := json.Unmarshal(instance.Private, &values); err != nil {
			t.Fatalf("private data %s: %v", instance.Private, err)
		}
		if err := json.Unmarshal(values["applied"], &applied); err != nil {
			t.Fatalf("private data applied %s: %v", values["applied"], err)
		}
	}
	return applied
}

// A destroy that failed has asked for the end of the volume. A later plan, which
// replaces an unbound claim for another reason, has not.
func TestAccVolumeThatIsBoundAfterAFailedDestroyIsKept(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	class := cluster.StorageClass(t, ns, "provisioner: silent.example.com")
	config := func(size string) string {
		return cluster.Config(ns,
			acctest.Volume(fmt.Sprintf("size = %q\n storage_class = %q\n wait_for_bound = false", size, class)))
	}
	cli.Write(t, config("1Gi"))
	cli.MustRun(t, "apply", "-auto-approve")
	allow := refuseDeletion(t, ns, "persistentvolumeclaims", "data")
	if out, err := cli.Run(t, "destroy", "-auto-approve"); err == nil {
		t.Fatalf("the destroy succeeded although the claim may not be deleted:\n%s", out)
	}
	allow()
	cli.Write(t, config("2Gi"))
	cli.MustRun(t, "plan", "-out=replacement")
	cluster.PersistentVolume(t, ns, "  storageClassName: "+class)
	cluster.Kubectl(t, "wait", "persistentvolumeclaim/data", "-n", ns, "--for=jsonpath={.status.phase}=Bound",
		"--timeout=60s")
	out, err := cli.Run(t, "apply", "replacement")
	if err == nil {
		t.Errorf("a volume that may contain data was replaced:\n%s", out)
	}
	acctest.ExpectText(t, out, "Replacement of a bound volume was not requested")
	cli.Write(t, config("1Gi"))
	cli.MustRun(t, "destroy", "-auto-approve") // which asks for its end
}

// An import guesses the settings that no object has, so that the plan after it is
// empty. Once an update has taken them from the configuration, a change shows.
func TestAccComputeShowsAChangedSettingAfterTheFirstUpdateSinceItsImport(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	first, cli := acctest.NewAttachedCLI(t), acctest.NewAttachedCLI(t)
	config := func(onNotReady, more string) string {
		return cluster.Config(ns, acctest.Compute(fmt.Sprintf("on_not_ready = %q\n%s", onNotReady, more)))
	}
	first.Write(t, config("ignore", ""))
	first.MustRun(t, "apply", "-auto-approve")
	cli.Write(t, config("ignore", "")+fmt.Sprintf("\nimport {\n to = kt_compute.trainer\n id = \"%s/trainer\"\n}", ns))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.Write(t, config("ignore", "timeouts = { delete = \"9m\" }"))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.Write(t, config("warn", "timeouts = { delete = \"9m\" }"))
	cli.MustRun(t, "apply", "-auto-approve")
	var state struct {
		Values struct {
			RootModule struct {
				Resources []struct{ Values map[string]any }
			} `json:"root_module"`
		}
	}
	if err := json.Unmarshal([]byte(cli.MustRun(t, "show", "-json")), &state); err != nil {
		t.Fatal(err)
	}
	if n := len(state.Values.RootModule.Resources); n != 1 {
		t.Fatalf("%d resources are in state, want 1", n)
	}
	for _, resource := range state.Values.RootModule.Resources {
		if got := resource.Values["on_not_ready"]; got != "warn" {
			t.Errorf("on_not_ready is %v in state after it was changed", got)
		}
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}
