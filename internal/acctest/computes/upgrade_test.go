package computes_test

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// former is the folder of a provider binary of an earlier release, from which
// TestAccUpgradeFixtureIsWritten makes a fixture.
var former = flag.String("former-provider", "",
	"folder of the provider whose state and objects become the fixture of upgrades")

// fixtureNamespace stands in a fixture for the namespace of the test.
const fixtureNamespace = "namespace-of-the-fixture"

// fixture is what a release of the provider has left behind: the state, with its
// private part, and the live objects that it is about.
type fixture struct {
	dir     string
	config  string
	state   map[string]any
	objects []*unstructured.Unstructured
}

// TestAccUpgradeFixtureIsWritten writes the fixture anew, with
//
//	TF_ACC=1 go test ./internal/acctest -run TestAccUpgradeFixtureIsWritten -former-provider=FOLDER
//
// where FOLDER holds the provider that is built from the release's commit, which
// is 476ccb3 for the folder first. The objects of CRDs have no controller here.
func TestAccUpgradeFixtureIsWritten(t *testing.T) {
	if *former == "" {
		t.Skip("-former-provider is not set")
	}
	on := withCRDs.WithComputes(t)
	dir := acctest.Testdata("upgrade/first")
	cli := upgraded(t, on, fixtureNamespace, dir, acctest.NewCLIWith(t, *former))
	on.Kubectl(t, "create", "namespace", fixtureNamespace)
	t.Cleanup(func() { on.Kubectl(t, "delete", "namespace", fixtureNamespace, "--wait=false") })
	on.Kubectl(t, "create", "serviceaccount", "kubetorch-service-account", "-n", fixtureNamespace)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "apply", "-auto-approve", "-refresh-only")
	state, err := os.ReadFile(filepath.Join(cli.Dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(dir, "state.json"), state)
	f := &fixture{state: decodeState(t, state)}
	sent := f.sent(t)
	var all []any
	for _, key := range slices.Sorted(maps.Keys(sent)) {
		all = append(all, f.live(t, on, fixtureNamespace, &unstructured.Unstructured{Object: sent[key]}).Object)
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(dir, "objects.json"), append(text, '\n'))
}

// What the first release has left behind stays as it is: this one plans nothing,
// whatever the environment, until somebody asks for something else.
func TestAccUpgradeFromTheFirstReleasePlansNothing(t *testing.T) {
	t.Parallel()
	on := withCRDs.WithComputes(t)
	ns := on.Namespace(t)
	f := readFixture(t, acctest.Testdata("upgrade/first"))
	cli := upgraded(t, on, ns, f.dir, acctest.NewCLI(t))
	cli.Setenv("KT_LAUNCH_TIMEOUT", "42")
	cli.Setenv("KT_GPU_ANTI_AFFINITY", "1")
	cli.Setenv("KT_USERNAME", "bob")
	f.restore(t, on, ns, cli)

	for _, refresh := range []string{"-refresh=false", "-refresh=true"} {
		out, err := cli.Run(t, "plan", "-detailed-exitcode", refresh)
		if err != nil {
			t.Fatalf("plan %s: %v\n%s", refresh, err, out)
		}
		if strings.Contains(out, "changed outside of Terraform") {
			t.Errorf("plan %s takes the upgrade for drift:\n%s", refresh, out)
		}
	}
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	if state := cli.MustRun(t, "state", "show", "kt_volume.data"); !strings.Contains(state, "bound_volume_name") {
		t.Errorf("the bound PersistentVolume is not in state:\n%s", state)
	}
	for _, obj := range f.objects {
		live := f.live(t, on, ns, obj)
		if got, want := live.GetGeneration(), int64(1); obj.GetKind() == "Deployment" && got != want {
			t.Errorf("Deployment %s has generation %d, want %d: it was changed", obj.GetName(), got, want)
		}
	}

	cli.Write(t, strings.Replace(f.config, `provider "kt" {`, "provider \"kt\" {\n  kubetorch_version = \"0.4.9\"", 1))
	a := cli.RunJSON(t, "plan")
	for _, name := range []string{"full", "plain", "gpus", "headless", "knative", "ray", "stateful", "script"} {
		if a.Planned["kt_compute."+name] == "" {
			t.Errorf("kubetorch_version does not move kt_compute.%s: %v", name, a.Planned)
		}
	}
	if action, moved := a.Planned["kt_compute.tensors"]; moved {
		t.Errorf("kubetorch_version moves a tensor server: %s", action)
	}
}

// upgraded gives a CLI the configuration of a fixture.
func upgraded(t *testing.T, on *acctest.Cluster, ns, dir string, cli *acctest.CLI) *acctest.CLI {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(dir, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	cli.Write(t, string(config))
	cli.Setenv("TF_VAR_kubeconfig", on.Kubeconfig())
	cli.Setenv("TF_VAR_namespace", ns)
	return cli
}

func readFixture(t *testing.T, dir string) *fixture {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(dir, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{dir: dir, config: string(config)}
	state, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	f.state = decodeState(t, state)
	text, err := os.ReadFile(filepath.Join(dir, "objects.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, object := range all {
		f.objects = append(f.objects, &unstructured.Unstructured{Object: object})
	}
	return f
}

// restore makes the objects again as the release has made them, by server-side
// apply of the fields that it owns, and writes a state that knows them.
func (f *fixture) restore(t *testing.T, on *acctest.Cluster, ns string, cli *acctest.CLI) {
	t.Helper()
	replace := []string{fixtureNamespace, ns}
	sent := f.sent(t)
	for _, obj := range f.objects {
		key := fmt.Sprintf("%s/%s/%s", obj.GetKind(), obj.GetNamespace(), obj.GetName())
		applied := sent[key]
		if kind := obj.GetKind(); kind == "Secret" || kind == "ConfigMap" { // of which a state shows digests
			applied = contents(obj)
		}
		file := filepath.Join(t.TempDir(), "object.json")
		putFile(t, file, []byte(strings.ReplaceAll(encode(t, applied), fixtureNamespace, ns)))
		on.Kubectl(t, "apply", "--server-side", "--field-manager=terraform-provider-kt", "-f", file)
		live := f.live(t, on, ns, obj)
		if diff := cmp.Diff(ours(t, obj), ours(t, live)); diff != "" {
			t.Fatalf("%s is not restored: the fields of the provider differ (-were +are):\n%s", key, diff)
		}
		replace = append(replace, string(obj.GetUID()), string(live.GetUID()))
	}
	text := rewrite(t, f.state, strings.NewReplacer(replace...))
	if strings.Contains(cli.MustRun(t, "version"), "OpenTofu") {
		text = strings.ReplaceAll(text, "registry.terraform.io", "registry.opentofu.org")
	}
	putFile(t, filepath.Join(cli.Dir, "terraform.tfstate"), []byte(text))
}

// contents is an object without what the server adds to it.
func contents(obj *unstructured.Unstructured) map[string]any {
	clean := obj.DeepCopy()
	for _, field := range []string{"creationTimestamp", "managedFields", "resourceVersion", "uid"} {
		unstructured.RemoveNestedField(clean.Object, "metadata", field)
	}
	return clean.Object
}

// sent are the objects of a state as they were applied, by their keys.
func (f *fixture) sent(t *testing.T) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, instance := range instances(f.state) {
		attributes, _ := instance["attributes"].(map[string]any)
		manifests, _ := attributes["manifests"].(map[string]any)
		for key, text := range manifests {
			text, _ := text.(string)
			out[key], _ = decodeJSON(t, []byte(text)).(map[string]any)
		}
	}
	return out
}

func (f *fixture) live(
	t *testing.T, on *acctest.Cluster, ns string, obj *unstructured.Unstructured,
) *unstructured.Unstructured {
	t.Helper()
	out := on.Kubectl(t, "get", kindArgument(obj), obj.GetName(), "-n", ns, "-o", "json", "--show-managed-fields")
	live := &unstructured.Unstructured{}
	if err := live.UnmarshalJSON([]byte(out)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return live
}

// kindArgument names the kind of an object for kubectl, as no other is named.
func kindArgument(obj *unstructured.Unstructured) string {
	gvk := obj.GroupVersionKind()
	return gvk.Kind + "." + gvk.Version + "." + gvk.Group
}

// ours are the fields of an object that the provider owns.
func ours(t *testing.T, obj *unstructured.Unstructured) any {
	t.Helper()
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager == "terraform-provider-kt" && entry.Operation == "Apply" {
			return decodeJSON(t, entry.FieldsV1.GetRawBytes())
		}
	}
	return nil
}

// rewrite is a state with texts replaced, in its private parts as well.
func rewrite(t *testing.T, state map[string]any, texts *strings.Replacer) string {
	t.Helper()
	copied, _ := decodeJSON(t, []byte(encode(t, state))).(map[string]any)
	for _, instance := range instances(copied) {
		private, _ := instance["private"].(string)
		data, err := base64.StdEncoding.DecodeString(private)
		if err != nil {
			t.Fatal(err)
		}
		var values map[string][]byte // each is base64 again
		if err := json.Unmarshal(data, &values); err != nil {
			t.Fatalf("private data %s: %v", data, err)
		}
		for key, value := range values {
			values[key] = []byte(texts.Replace(string(value)))
		}
		instance["private"] = base64.StdEncoding.EncodeToString([]byte(encode(t, values)))
	}
	return texts.Replace(encode(t, copied))
}

func instances(state map[string]any) []map[string]any {
	var all []map[string]any
	resources, _ := state["resources"].([]any)
	for _, resource := range resources {
		resource, _ := resource.(map[string]any)
		list, _ := resource["instances"].([]any)
		for _, instance := range list {
			instance, _ := instance.(map[string]any)
			all = append(all, instance)
		}
	}
	return all
}

func decodeState(t *testing.T, text []byte) map[string]any {
	t.Helper()
	state, _ := decodeJSON(t, text).(map[string]any)
	return state
}

func decodeJSON(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func putFile(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
