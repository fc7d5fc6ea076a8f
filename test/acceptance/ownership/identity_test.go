package ownership_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// mainObjects returns, for kubectl, the objects of everyKind whose UIDs are in state.
func mainObjects() []string {
	return []string{"persistentvolumeclaim/same", "secret/same", "configmap/kt-image-same", "deployment/same"}
}

// createsIn returns a function that reports whether a request creates one of the
// objects in a namespace. A dry run does not.
func createsIn(ns string) func(*http.Request) bool {
	return func(request *http.Request) bool {
		return acctest.Writes(request, "") && strings.Contains(request.URL.Path, "/"+ns+"/")
	}
}

// A create request without a response may not have been executed. By the next
// run, the object can belong to another state.
func TestAccOwnershipAStateWithoutUIDsAdoptsOnlyObjectsThatItCreated(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	proxy := acctest.NewLossyProxy(t, cluster, createsIn(ns))
	proxy.DropRequests = true
	first, second := acctest.NewAttachedCLI(t), acctest.NewAttachedCLI(t)
	first.Write(t, proxy.Config(ns, ofEveryKind("it", "")))
	if out, err := first.Run(t, "apply", "-auto-approve"); err == nil || proxy.Lost.Load() < 4 {
		t.Fatalf("error %v, %d requests were lost:\n%s", err, proxy.Lost.Load(), out)
	}
	if state := first.State(t); len(state) != len(kinds()) {
		t.Fatalf("the state is %+v, want all of %v", state, kinds())
	}
	proxy.Repaired.Store(true)
	a := first.RunJSON(t, "plan")
	if a.Failed || strings.Count(a.Output, "was not created") < len(kinds()) ||
		strings.Contains(a.Output, "deleted outside of Terraform") {
		t.Errorf("the plan does not report that no object was created:\n%s", a)
	}

	second.Write(t, cluster.Config(ns, ofEveryKind("other", "")))
	second.MustRun(t, "apply", "-auto-approve")
	before := uidsOfAll(t, ns)
	out, err := first.Run(t, "plan")
	if err == nil {
		t.Errorf("the plan of the first state succeeded with the objects of the second state:\n%s", out)
	}
	acctest.ExpectText(t, out, "did not create it", "belongs to another resource", fmt.Sprintf("id = %q", ns+"/same"))
	acctest.ExpectText(t, first.MustRun(t, "destroy", "-auto-approve", "-refresh=false"), "was not deleted",
		"It was not changed")
	if after := uidsOfAll(t, ns); len(after) != len(before) {
		t.Errorf("the objects are %v, and were %v", after, before)
	}
	second.MustRun(t, "plan", "-detailed-exitcode")
	second.MustRun(t, "destroy", "-auto-approve")
}

// The state does not contain the UID of a compute's Service, which is created
// after the workload.
func TestAccOwnershipAServiceWithALostResponseIsRecognizedByItsCreation(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	proxy := acctest.NewLossyProxy(t, cluster, func(request *http.Request) bool {
		return acctest.Writes(request, "/services/trainer")
	})
	proxy.DropRequests = true
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, proxy.Config(ns, acctest.Compute(`image = "python:3.12"`)))
	cli.MustRun(t, "apply", "-auto-approve")
	proxy.Repaired.Store(true)
	applyAsProvider(t,
		`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "trainer", "namespace": "`+ns+
			`"}, "spec": {"ports": [{"port": 1}]}}`)
	out, err := cli.Run(t, "plan")
	if err == nil {
		t.Errorf("the plan changes a Service of another client:\n%s", out)
	}
	acctest.ExpectText(t, out, "did not create it")
	acctest.ExpectText(t, cli.MustRun(t, "destroy", "-auto-approve", "-refresh=false"), "was not deleted")
	cluster.Kubectl(t, "get", "service/trainer", "-n", ns)
}

// applyAsProvider applies an object as another state of this provider would.
func applyAsProvider(t *testing.T, manifest string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "object.json")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster.Kubectl(t, "apply", "--server-side", "--force-conflicts", "--field-manager=terraform-provider-kt", "-f",
		file)
}

// setMetadata sets metadata of an object, as a client that restores a backup does.
func setMetadata(t *testing.T, ns, object string, metadata map[string]any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Kubectl(t, "patch", object, "-n", ns, "--type=merge", "-p", string(patch))
}

// replace deletes an object and applies a copy of it as another state would. It
// returns the deleted object. The copy has some of its annotations.
func replace(t *testing.T, ns, object string, annotations ...string) *unstructured.Unstructured {
	t.Helper()
	was := &unstructured.Unstructured{}
	if err := was.UnmarshalJSON([]byte(cluster.Kubectl(t, "get", object, "-n", ns, "-o", "json",
		"--show-managed-fields"))); err != nil {
		t.Fatal(err)
	}
	cluster.Kubectl(t, "delete", object, "-n", ns)
	fresh := was.DeepCopy()
	for _, field := range [][]string{
		{"status"}, {"spec", "volumeName"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"},
		{"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "creationTimestamp"},
		{"metadata", "managedFields"},
		{"metadata", "annotations"}, {"metadata", "finalizers"}, {"metadata", "generation"},
	} {
		unstructured.RemoveNestedField(fresh.Object, field...)
	}
	kept := map[string]string{}
	for _, name := range annotations {
		kept[name] = was.GetAnnotations()[name]
	}
	fresh.SetAnnotations(kept)
	text, err := json.Marshal(fresh.Object)
	if err != nil {
		t.Fatal(err)
	}
	applyAsProvider(t, string(text))
	return was
}

// appliedInThePast returns the records of the managers of an object with a time before its creation.
func appliedInThePast(t *testing.T, ns, object string) []any {
	t.Helper()
	live := &unstructured.Unstructured{}
	if err := live.UnmarshalJSON([]byte(cluster.Kubectl(t, "get", object, "-n", ns, "-o", "json",
		"--show-managed-fields"))); err != nil {
		t.Fatal(err)
	}
	records, _, _ := unstructured.NestedSlice(live.Object, "metadata", "managedFields")
	for _, record := range records {
		entry, _ := record.(map[string]any)
		entry["time"] = "2020-01-01T00:00:00Z"
	}
	return records
}

func TestAccOwnershipAnObjectRecreatedByAnotherStateIsNeitherAdoptedNorDeleted(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, ofEveryKind("it", "")))
	cli.MustRun(t, "apply", "-auto-approve")
	before := uidsOfAll(t, ns)
	var uids []string
	for _, object := range mainObjects() {
		uids = append(uids, string(replace(t, ns, object).GetUID()))
		// An admission webhook that is slow makes an object look as if it was applied before its creation.
		setMetadata(t, ns, object, map[string]any{"managedFields": appliedInThePast(t, ns, object)})
	}
	now := uidsOfAll(t, ns)
	out, err := cli.Run(t, "plan")
	if err == nil {
		t.Errorf("the state adopted objects of another state:\n%s", out)
	}
	acctest.ExpectText(t, out, "was replaced outside of Terraform", "belongs to another resource")
	acctest.ExpectText(t, out, uids...)
	for name, uid := range now {
		if before[name] != uid {
			acctest.ExpectText(t, out, uid)
		}
	}
	acctest.ExpectText(t, cli.MustRun(t, "destroy", "-auto-approve", "-refresh=false"),
		append(uids, "was not deleted")...)
	left := uidsOfAll(t, ns)
	for name, uid := range now {
		if before[name] != uid && left[name] != uid {
			t.Errorf("%s with UID %s was deleted", name, uid)
		}
	}
}

func TestAccOwnershipARestoredObjectIsManagedAgain(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, ofEveryKind("it", "")))
	cli.MustRun(t, "apply", "-auto-approve")
	var uids []string
	for _, object := range mainObjects() {
		was := replace(t, ns, object, "kt.dev/creation")
		uids = append(uids, string(was.GetUID()))
		records, _, _ := unstructured.NestedSlice(was.Object, "metadata", "managedFields")
		setMetadata(t, ns, object, map[string]any{"managedFields": records})
	}
	now := uidsOfAll(t, ns)
	out := cli.MustRun(t, "apply", "-auto-approve")
	acctest.ExpectText(t, out, "was restored outside of Terraform")
	acctest.ExpectText(t, out, uids...)
	cli.MustRun(t, "plan", "-detailed-exitcode")
	for name, uid := range uidsOfAll(t, ns) {
		if now[name] != uid {
			t.Errorf("%s was replaced", name)
		}
	}
	cli.MustRun(t, "destroy", "-auto-approve")
	if left := objectsLeft(t, ns); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// The headless Service of a distributed compute and the Service of the other
// compute have the same name.
func TestAccOwnershipComputesWithTheSameServiceNameFailThePlan(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	pool := "resource \"kt_compute\" \"pool\" {\n  name       = \"pool\"\n  cpus       = \"100m\"\n  distribute = { " +
		"type = \"pytorch\", workers = 2 }\n}\n"
	other := "resource \"kt_compute\" \"other\" {\n  name = \"pool-headless\"\n  cpus = \"100m\"\n}\n"
	refused := func() {
		t.Helper()
		out, err := cli.Run(t, "plan")
		if err == nil {
			t.Fatalf("the plan with both computes succeeded:\n%s", out)
		}
		acctest.ExpectText(t, out, "belongs to another resource", "kt_compute "+ns+"/pool",
			"kt_compute "+ns+"/pool-headless", "Change the name or the namespace")
	}
	cli.Write(t, cluster.Config(ns, pool+other))
	refused()
	cli.Write(t, cluster.Config(ns, pool))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.Write(t, cluster.Config(ns, pool+other))
	refused()
	cli.Write(t, cluster.Config(ns, pool))
	cli.MustRun(t, "destroy", "-auto-approve")
}

// Only the response NotFound means that the Secret does not exist.
func TestAccOwnershipAnUnreadableSecretIsNotAdopted(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	const token = "resource \"kt_secret\" \"token\" {\n  name   = \"token\"\n  values = { TOKEN = \"x\" }\n}\n"
	first := acctest.NewAttachedCLI(t)
	first.Write(t, cluster.Config(ns, token))
	first.MustRun(t, "apply", "-auto-approve")
	before := cluster.Kubectl(t, "get", "secret/token", "-n", ns, "-o", "jsonpath={.metadata.resourceVersion}")

	proxy := acctest.NewLossyProxy(t, cluster, func(request *http.Request) bool {
		return strings.HasSuffix(request.URL.Path, "/secrets/token") &&
			(request.Method == http.MethodGet || request.Header.Get("Content-Type") == "application/merge-patch+json")
	})
	proxy.Forbidden = true
	second := acctest.NewAttachedCLI(t)
	second.Write(t, proxy.Config(ns, token))
	if out, err := second.Run(t, "apply", "-auto-approve"); err == nil || proxy.Lost.Load() < 2 {
		t.Errorf("error %v, %d requests were refused:\n%s", err, proxy.Lost.Load(), out)
	}
	if now := cluster.Kubectl(t, "get", "secret/token", "-n", ns, "-o",
		"jsonpath={.metadata.resourceVersion}"); now != before {
		t.Error("the Secret of another state was written")
	}
	first.MustRun(t, "destroy", "-auto-approve")
}

// With -refresh=false, Terraform passes only the state of a tainted resource to the plan.
func TestAccOwnershipATaintedResourceIsReplacedWithoutARefresh(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli, second := acctest.NewAttachedCLI(t), acctest.NewCLI(t)
	cli.Write(t, cluster.Config(ns, ofEveryKind("it", "")))
	cli.MustRun(t, "apply", "-auto-approve")
	second.Write(t, cluster.Config(ns, ofEveryKind("other", "")))
	out, err := second.Run(t, "plan", "-refresh=false")
	if err == nil || strings.Count(out, "belongs to another resource") != len(kinds()) {
		t.Errorf("the plan of the second state without a refresh does not report every conflict:\n%s", out)
	}
	before := uidsOfAll(t, ns)
	for _, kind := range []string{"kt_secret", "kt_image", "kt_compute"} { // a volume may contain data
		cli.MustRun(t, "taint", kind+".it")
		cli.MustRun(t, "plan", "-refresh=false", "-target="+kind+".it")
	}
	cli.MustRun(t, "plan", "-refresh=false")
	cli.MustRun(t, "plan", "-refresh=false", "-replace=kt_volume.it")
	cli.MustRun(t, "apply", "-auto-approve", "-refresh=false")
	after := uidsOfAll(t, ns)
	for name, uid := range before {
		if kept := strings.HasPrefix(name, "PersistentVolumeClaim/"); kept != (after[name] == uid) {
			t.Errorf("%s had UID %s, and has %s", name, uid, after[name])
		}
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// A template that made the creation fail is corrected, although that of a Job is immutable.
func TestAccOwnershipATaintedJobIsReplacedWithAnotherTemplate(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	for _, more := range []string{"", "adopt_existing = true"} {
		job := func(command string) string {
			return cluster.Config(ns, acctest.BareCompute(acctest.Manifest("apiVersion: batch/v1\nkind: Job\nspec: "+
				"{template: {spec: {containers: [{name: kubetorch, command: ["+command+"]}]}}}")+more))
		}
		cli.Write(t, job("first"))
		cli.MustRun(t, "apply", "-auto-approve")
		cli.MustRun(t, "taint", "kt_compute.trainer")
		cli.Write(t, job("second"))
		cli.MustRun(t, "apply", "-auto-approve")
		cli.MustRun(t, "plan", "-detailed-exitcode")
		cli.MustRun(t, "destroy", "-auto-approve")
	}
}

// A resource whose object another resource adopts stays in state until the other
// resource has been created.
func TestAccOwnershipAFailedAdoptionKeepsTheReplacedResourceInState(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	var mu sync.Mutex
	refused, gate := map[string]bool{}, filepath.Join(t.TempDir(), "refused")
	proxy := acctest.NewLossyProxy(t, cluster, func(request *http.Request) bool {
		if !createsIn(ns)(request) {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		if refused[request.URL.Path] = true; len(refused) == len(kinds())-1 {
			if err := os.WriteFile(gate, nil, 0o600); err != nil {
				t.Error(err)
			}
		}
		return true
	})
	proxy.Forbidden = true
	cli := acctest.NewAttachedCLI(t)
	// No destroy starts before all create requests were sent.
	waiting := func(label, dependencies string) string {
		return fmt.Sprintf("resource \"terraform_data\" \"gate\" {\n  depends_on       = [%s]\n  "+
			"triggers_replace = %q\n"+
			"  provisioner \"local-exec\" {\n    when    = destroy\n    command = \"until [ -e '%s' ]; do sleep "+
			"0.1; done\"\n  }\n}\n",
			dependencies, label, gate)
	}
	// A volume cannot be adopted from another resource of the run.
	withoutVolume := func(label string) string {
		_, rest, _ := strings.Cut(ofEveryKind(label, "  adopt_existing = true\n"), `resource "kt_secret"`)
		return `resource "kt_secret"` + rest
	}
	proxy.Repaired.Store(true)
	cli.Write(t, proxy.Config(ns, withoutVolume("first")+
		waiting("first", "kt_secret.first, kt_image.first, kt_compute.first")))
	cli.MustRun(t, "apply", "-auto-approve")
	before := uidsOfAll(t, ns)

	proxy.Repaired.Store(false)
	cli.Write(t, proxy.Config(ns, withoutVolume("second")+waiting("second", "")))
	out, err := cli.Run(t, "apply", "-auto-approve")
	if err == nil {
		t.Fatalf("the apply succeeded, although the creations were rejected:\n%s", out)
	}
	kept := cli.MustRun(t, "state", "list")
	acctest.ExpectText(t, out, "is not deleted", "its creation failed", "Correct the cause of the failed creation")
	for _, kind := range kinds()[1:] {
		acctest.ExpectText(t, kept, kind+".first")
	}

	proxy.Repaired.Store(true)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	if now := uidsOfAll(t, ns); len(now) != len(before) {
		t.Errorf("the objects are %v, and were %v", now, before)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
	if left := objectsLeft(t, ns); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}
