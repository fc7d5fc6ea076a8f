package ownership_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// move is a working directory with the state of a peer, and the objects of that state in the cluster.
type move struct {
	*acctest.CLI
	namespace string
	uids      map[string]string // by kind and name
}

// newMove creates objects with the field manager of a peer, and loads its state.
func newMove(t *testing.T, peer string, objects ...string) move {
	t.Helper()
	m := move{CLI: acctest.NewAttachedCLI(t), namespace: cluster.Namespace(t)}
	m.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
	m.Setenv("KT_NAMESPACE", m.namespace)
	m.Setenv("TOKEN", "not-a-real-token")
	m.overridePeers(t)
	text, err := os.ReadFile(acctest.Testdata(filepath.Join("moved", peer, "state.json")))
	if err != nil {
		t.Fatal(err)
	}
	state := strings.NewReplacer("NAMESPACE", m.namespace, "registry.terraform.io", acctest.ProviderHost()).
		Replace(string(text))
	texts := make([]string, 0, len(objects))
	for _, object := range objects {
		texts = append(texts, moveObjects[object])
	}
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(texts, "---\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster.Kubectl(t, append(slices.Clone(peers[peer].write), "-n", m.namespace, "-f", file)...)
	m.uids = m.live(t, objects)
	for object, uid := range m.uids {
		state = strings.ReplaceAll(state, "UID/"+object, uid)
	}
	m.writeState(t, state, peer, objects)
	return m
}

// writeState writes a state without the resources of other objects.
func (m move) writeState(t *testing.T, text, peer string, objects []string) {
	t.Helper()
	var state map[string]any
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		t.Fatal(err)
	}
	state["resources"] = slices.DeleteFunc(state["resources"].([]any), func(item any) bool {
		resource := item.(map[string]any)
		address := fmt.Sprintf("%s.%s", resource["type"], resource["name"])
		return !slices.ContainsFunc(objects, func(object string) bool {
			return peers[peer].resources[object] == address
		})
	})
	out, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.StateFile(), out, 0o600); err != nil {
		t.Fatal(err)
	}
}

// overridePeers installs programs for the providers in the state. The CLI only requests their schemas, and passes the
// raw state of a moved resource to this provider, so any provider will do.
func (m move) overridePeers(t *testing.T) {
	t.Helper()
	bin := os.Getenv("KT_PROVIDER_DIR")
	if bin == "" {
		bin = filepath.Join(acctest.Root(), "bin")
	}
	overrides := fmt.Sprintf("    \"ktdev/kt\" = %q\n", bin)
	for source, name := range map[string]string{"hashicorp/kubernetes": "kubernetes", "gavinbunney/kubectl": "kubectl",
		"alekc/kubectl": "kubectl", "jmorris0x0/k8sconnect": "k8sconnect"} {
		dir := t.TempDir()
		if err := os.Symlink(filepath.Join(bin, "terraform-provider-kt"),
			filepath.Join(dir, "terraform-provider-"+name)); err != nil {
			t.Fatal(err)
		}
		overrides += fmt.Sprintf("    %q = %q\n", source, dir)
	}
	settings := filepath.Join(t.TempDir(), "cli.tfrc")
	text := "provider_installation {\n  dev_overrides {\n" + overrides + "  }\n  direct {}\n}\n"
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m.Setenv("TF_CLI_CONFIG_FILE", settings)
}

// live returns the UIDs of those objects that exist.
func (m move) live(t *testing.T, objects []string) map[string]string {
	t.Helper()
	template := "{{.kind}}/{{.metadata.name}} {{.metadata.uid}}\n"
	if len(objects) > 1 {
		template = "{{range .items}}" + template + "{{end}}"
	}
	args := []string{"get", "-n", m.namespace, "--ignore-not-found", "-o", "go-template=" + template}
	uids := map[string]string{}
	for line := range strings.Lines(cluster.Kubectl(t, append(args, objects...)...)) {
		object, uid, _ := strings.Cut(strings.TrimSpace(line), " ")
		uids[object] = uid
	}
	return uids
}

func movedBlock(from, to string) string {
	return fmt.Sprintf("\nmoved {\n  from = %s\n  to   = %s\n}\n", from, to)
}

// actions plans, and returns the actions of the plan by address.
func (m move) actions(t *testing.T) map[string][]string {
	t.Helper()
	m.MustRun(t, "plan", "-out=saved.tfplan")
	return m.savedActions(t)
}

func (m move) savedActions(t *testing.T) map[string][]string {
	t.Helper()
	var plan struct {
		ResourceChanges []struct {
			Address string `json:"address"`
			Change  struct {
				Actions []string `json:"actions"`
			} `json:"change"`
		} `json:"resource_changes"`
	}
	out := m.MustRun(t, "show", "-json", "saved.tfplan")
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	actions := map[string][]string{}
	for _, change := range plan.ResourceChanges {
		actions[change.Address] = change.Change.Actions
	}
	return actions
}

func TestAccMovedResourcesKeepTheirObjects(t *testing.T) {
	t.Parallel()
	requireMoves(t)
	for peer, p := range peers {
		t.Run(peer, func(t *testing.T) {
			t.Parallel()
			var objects []string
			for object := range p.resources {
				if object != "Job/migrate" { // would be replaced
					objects = append(objects, object)
				}
			}
			m := newMove(t, peer, objects...)
			config := ""
			for _, object := range objects {
				config += movedBlock(p.resources[object], moveTargets[object].address) + moveTargets[object].config
			}
			m.Write(t, config)
			actions := m.actions(t)
			for _, object := range objects {
				address := moveTargets[object].address
				want := "update"
				if strings.HasPrefix(object, "PersistentVolumeClaim/") {
					want = "no-op" // its fields are already those of the configuration
				}
				if got := actions[address]; !slices.Equal(got, []string{want}) {
					t.Errorf("the plan for %s is %v, want %s", address, got, want)
				}
			}
			if len(actions) != len(objects) {
				t.Errorf("the plan has other changes: %v", actions)
			}
			m.MustRun(t, "apply", "saved.tfplan")
			m.expectKept(t)
			m.MustRun(t, "plan", "-detailed-exitcode")
			m.expectNoSecret(t)
			m.MustRun(t, "destroy", "-auto-approve")
			if left := m.live(t, objects); len(left) > 0 {
				t.Errorf("still there: %v", left)
			}
		})
	}
}

func TestAccMovedBlocksOfTheGuideKeepTheirObjects(t *testing.T) {
	t.Parallel()
	requireMoves(t)
	objects := []string{"Deployment/web", "PersistentVolumeClaim/datasets", "Secret/token"}
	m := newMove(t, "kubernetes", objects...)
	if err := os.CopyFS(m.Dir, os.DirFS(filepath.Join(acctest.Root(), "examples", "guides", "moved"))); err != nil {
		t.Fatal(err)
	}
	for address, actions := range m.actions(t) {
		if !slices.Equal(actions, []string{"update"}) {
			t.Errorf("the plan for %s is %v, want an update", address, actions)
		}
	}
	m.MustRun(t, "apply", "saved.tfplan")
	m.expectKept(t)
	m.MustRun(t, "plan", "-detailed-exitcode")
}

// expectNoSecret checks that the value of the Secret did not move from the old state to the new one.
func (m move) expectNoSecret(t *testing.T) {
	t.Helper()
	state, err := os.ReadFile(m.StateFile())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(acctest.Decoded(state)), "not-a-real-token") {
		t.Errorf("the state contains the value of the secret:\n%s", state)
	}
}

func requireMoves(t *testing.T) {
	t.Helper()
	acctest.NewAttachedCLI(t) // skips the test without TF_ACC
}
