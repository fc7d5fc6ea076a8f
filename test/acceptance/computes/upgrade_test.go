package computes_test

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// former is the directory of the provider binary of an earlier release, from which
// TestAccUpgradeFixtureIsWritten creates a fixture.
var former = flag.String("former-provider", "",
	"directory of the provider binary that creates the state and objects of the upgrade fixture")

// fixtureNamespace is the placeholder in a fixture for the namespace of the test.
const fixtureNamespace = "namespace-of-the-fixture"

// fixture is the result of a run of an earlier release: the state, including private
// data, and the live objects.
type fixture struct {
	state   map[string]any
	objects []*unstructured.Unstructured
}

// TestAccUpgradeFixtureIsWritten writes the fixture again, with
//
//	TF_ACC=1 go test ./test/acceptance/computes -run TestAccUpgradeFixtureIsWritten -former-provider=DIRECTORY
//
// DIRECTORY has the name of a release, such as 0.1.0, and contains its provider binary. The fixture has this name too.
// No controllers of the CRDs are running.
func TestAccUpgradeFixtureIsWritten(t *testing.T) {
	if *former == "" {
		t.Skip("-former-provider is not set")
	}
	on := withCRDs.WithComputes(t)
	dir := acctest.Testdata(filepath.Join("upgrade", filepath.Base(*former)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cli := upgraded(t, on, fixtureNamespace, acctest.NewCLIWith(t, *former))
	on.Kubectl(t, "create", "namespace", fixtureNamespace)
	t.Cleanup(func() { on.Kubectl(t, "delete", "namespace", fixtureNamespace, "--wait=false") })
	on.Kubectl(t, "create", "serviceaccount", "kubetorch-service-account", "-n", fixtureNamespace)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "apply", "-auto-approve", "-refresh-only")
	state, err := os.ReadFile(cli.StateFile())
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

// With the state of each release and an unchanged configuration, the plan is empty in any environment.
func TestAccUpgradePlansNothing(t *testing.T) {
	t.Parallel()
	releases, err := filepath.Glob(acctest.Testdata("upgrade/*/state.json"))
	if err != nil {
		t.Fatal(err)
	}
	on := withCRDs.WithComputes(t)
	if len(releases) == 0 { // at least, the configuration of the fixtures is valid
		cli := upgraded(t, on, on.Namespace(t), acctest.NewCLI(t))
		cli.MustRun(t, "apply", "-auto-approve")
		cli.MustRun(t, "plan", "-detailed-exitcode")
		cli.MustRun(t, "destroy", "-auto-approve")
	}
	for _, release := range releases {
		t.Run(filepath.Base(filepath.Dir(release)), func(t *testing.T) {
			t.Parallel()
			expectNoChange(t, on, filepath.Dir(release))
		})
	}
}

func expectNoChange(t *testing.T, on *acctest.Cluster, release string) {
	t.Helper()
	ns := on.Namespace(t)
	f := readFixture(t, release)
	cli := upgraded(t, on, ns, acctest.NewCLI(t))
	cli.Setenv("KT_LAUNCH_TIMEOUT", "42")
	cli.Setenv("KT_GPU_ANTI_AFFINITY", "1")
	cli.Setenv("KT_USERNAME", "bob")
	f.restore(t, on, ns, cli)

	for _, refresh := range []string{"-refresh=false", "-refresh=true"} {
		out, err := cli.Run(t, "plan", "-detailed-exitcode", refresh)
		// Without a refresh, Terraform plans an update of each resource with a new sensitive attribute, although no
		// value changes, because the state does not mark it.
		changes := regexp.MustCompile(`(?m)^ +[-+~] (\w+) += `).FindAllString(out, -1)
		if err != nil && (refresh == "-refresh=true" || len(changes) > 0) {
			t.Fatalf("plan %s: %v\n%s", refresh, err, out)
		}
		if strings.Contains(out, "changed outside of Terraform") {
			t.Errorf("plan %s reports the upgrade as drift:\n%s", refresh, out)
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

	const block = `provider "kt" {`
	cli.Write(t, strings.Replace(upgradeConfig(t), block, block+"\n  kubetorch_version = \"0.4.9\"", 1))
	a := cli.RunJSON(t, "plan")
	for _, name := range []string{"full", "plain", "gpus", "headless", "knative", "ray", "stateful", "script"} {
		if a.Planned["kt_compute."+name] == "" {
			t.Errorf("kubetorch_version does not update kt_compute.%s: %v", name, a.Planned)
		}
	}
	if action, moved := a.Planned["kt_compute.tensors"]; moved {
		t.Errorf("kubetorch_version updates a tensor server: %s", action)
	}
}

// upgraded writes the configuration of a fixture to the directory of a CLI.
func upgraded(t *testing.T, on *acctest.Cluster, ns string, cli *acctest.CLI) *acctest.CLI {
	t.Helper()
	cli.Write(t, upgradeConfig(t))
	cli.Setenv("TF_VAR_kubeconfig", on.Kubeconfig())
	cli.Setenv("TF_VAR_namespace", ns)
	return cli
}

func upgradeConfig(t *testing.T) string {
	t.Helper()
	config, err := os.ReadFile(acctest.Testdata("upgrade/main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	return string(config)
}

func readFixture(t *testing.T, dir string) *fixture {
	t.Helper()
	f := &fixture{}
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

// restore creates the objects of the release by server-side apply of the fields that
// it owns, and writes a state with their UIDs.
func (f *fixture) restore(t *testing.T, on *acctest.Cluster, ns string, cli *acctest.CLI) {
	t.Helper()
	replace := []string{fixtureNamespace, ns}
	sent := f.sent(t)
	for _, obj := range f.objects {
		key := fmt.Sprintf("%s/%s/%s", obj.GetKind(), obj.GetNamespace(), obj.GetName())
		applied := sent[key]
		if kind := obj.GetKind(); kind == "Secret" || kind == "ConfigMap" { // their manifests contain digests
			applied = contents(obj)
		}
		file := filepath.Join(t.TempDir(), "object.json")
		putFile(t, file, []byte(strings.ReplaceAll(encode(t, applied), fixtureNamespace, ns)))
		on.Kubectl(t, "apply", "--server-side", "--field-manager=terraform-provider-kt", "-f", file)
		live := f.live(t, on, ns, obj)
		if diff := cmp.Diff(ours(t, obj), ours(t, live)); diff != "" {
			t.Fatalf("%s is not restored: the fields of the provider differ (-want +got):\n%s", key, diff)
		}
		replace = append(replace, string(obj.GetUID()), string(live.GetUID()))
	}
	text := rewrite(t, f.state, strings.NewReplacer(replace...))
	if strings.Contains(cli.MustRun(t, "version"), "OpenTofu") {
		text = strings.ReplaceAll(text, "registry.terraform.io", "registry.opentofu.org")
	}
	putFile(t, cli.StateFile(), []byte(text))
}

// contents returns an object without the fields that the server sets.
func contents(obj *unstructured.Unstructured) map[string]any {
	clean := obj.DeepCopy()
	for _, field := range []string{"creationTimestamp", "managedFields", "resourceVersion", "uid"} {
		unstructured.RemoveNestedField(clean.Object, "metadata", field)
	}
	return clean.Object
}

// sent returns the applied objects in a state, by their keys.
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

// kindArgument returns the unambiguous name of an object's kind for kubectl.
func kindArgument(obj *unstructured.Unstructured) string {
	gvk := obj.GroupVersionKind()
	return gvk.Kind + "." + gvk.Version + "." + gvk.Group
}

// ours returns the fields of an object that the provider owns.
func ours(t *testing.T, obj *unstructured.Unstructured) any {
	t.Helper()
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager == "terraform-provider-kt" && entry.Operation == "Apply" {
			return decodeJSON(t, entry.FieldsV1.GetRawBytes())
		}
	}
	return nil
}

// rewrite returns a state with texts replaced, including its private data.
func rewrite(t *testing.T, state map[string]any, texts *strings.Replacer) string {
	t.Helper()
	copied, _ := decodeJSON(t, []byte(encode(t, state))).(map[string]any)
	for _, instance := range instances(copied) {
		private, _ := instance["private"].(string)
		data, err := base64.StdEncoding.DecodeString(private)
		if err != nil {
			t.Fatal(err)
		}
		var values map[string][]byte // values are base64 encoded
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
