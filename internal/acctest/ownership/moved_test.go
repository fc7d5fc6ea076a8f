package ownership_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// peers are the providers whose states are in testdata/moved, with the way in which they write objects.
var peers = map[string]struct {
	resources map[string]string // addresses of the resources by the kind and name of their objects
	write     []string          // arguments of kubectl
}{
	"kubernetes": {
		resources: map[string]string{
			"Deployment/web": "kubernetes_deployment.web", "StatefulSet/queue": "kubernetes_stateful_set.queue",
			"DaemonSet/cache": "kubernetes_daemonset.cache", "Job/migrate": "kubernetes_job.migrate",
			"PersistentVolumeClaim/datasets": "kubernetes_persistent_volume_claim.datasets",
			"Secret/token":                   "kubernetes_secret.token",
		},
		write: []string{"create", "--field-manager=HashiCorp"},
	},
	"kubernetes-v1": {
		resources: map[string]string{
			"Deployment/web": "kubernetes_deployment_v1.web", "StatefulSet/queue": "kubernetes_stateful_set_v1.queue",
			"DaemonSet/cache": "kubernetes_daemon_set_v1.cache", "CronJob/nightly": "kubernetes_cron_job_v1.nightly",
			"PersistentVolumeClaim/datasets": "kubernetes_persistent_volume_claim_v1.datasets",
			"Secret/token":                   "kubernetes_secret_v1.token",
		},
		write: []string{"create", "--field-manager=HashiCorp"},
	},
	"gavinbunney": {resources: generic("kubectl_manifest"), write: []string{"apply", "--field-manager=HashiCorp"}},
	"alekc":       {resources: generic("kubectl_manifest"), write: []string{"apply", "--field-manager=HashiCorp"}},
	"manifest": {resources: generic("kubernetes_manifest"),
		write: []string{"apply", "--server-side", "--field-manager=Terraform"}},
	"k8sconnect": {resources: generic("k8sconnect_object"),
		write: []string{"apply", "--server-side", "--field-manager=k8sconnect"}},
}

// generic returns the addresses of resources of a type for objects of any kind.
func generic(resourceType string) map[string]string {
	return map[string]string{"Deployment/web": resourceType + ".web", "Secret/token": resourceType + ".token",
		"PersistentVolumeClaim/datasets": resourceType + ".datasets"}
}

// moveObjects are the objects of the peers by kind and name.
var moveObjects = map[string]string{
	"Deployment/web": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {team: shop}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: kubetorch
        image: registry.example.com/shop/web:1.4.2
        command: [/app/serve, --port=8080]
        ports: [{name: http, containerPort: 8080}]
`,
	"StatefulSet/queue": `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: queue}
spec:
  serviceName: queue
  replicas: 1
  selector: {matchLabels: {app: queue}}
  template:
    metadata: {labels: {app: queue}}
    spec: {containers: [{name: kubetorch, image: "registry.example.com/shop/queue:2.0.0", command: [/app/queue]}]}
`,
	"DaemonSet/cache": `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: cache}
spec:
  selector: {matchLabels: {app: cache-pods}}
  template:
    metadata: {labels: {app: cache-pods}}
    spec: {containers: [{name: kubetorch, image: "registry.example.com/shop/cache:1.0.0", command: [/app/cache]}]}
`,
	"CronJob/nightly": `
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: 0 3 * * *
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: kubetorch, image: "registry.example.com/shop/nightly:1.0.0", command: [/app/nightly]}]
`,
	"Job/migrate": `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: kubetorch, image: "registry.example.com/shop/migrate:1.0.0", command: [/app/migrate]}]
`,
	"PersistentVolumeClaim/datasets": `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: datasets, labels: {team: shop}}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 10Gi}}
`,
	"Secret/token": `
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {TOKEN: not-a-real-token}
`,
}

// moveTargets are the addresses and the configuration of the resources of this provider.
var moveTargets = map[string]struct{ address, config string }{
	"Deployment/web": {"kt_compute.web", `
resource "kt_compute" "web" {
  name                 = "web"
  freeze               = true
  service_account_name = "default"
  manifest             = <<-YAML
    apiVersion: apps/v1
    kind: Deployment
    spec:
      replicas: 2
      strategy: {type: RollingUpdate}
      template:
        spec:
          containers:
          - name: kubetorch
            image: registry.example.com/shop/web:1.4.2
            command: [/app/serve, --port=8080]
            ports: [{name: http, containerPort: 8080}]
  YAML
}`},
	"StatefulSet/queue": moveTarget("queue", "apps/v1", "StatefulSet", `
    spec:
      serviceName: queue
      template:
        spec: {containers: [{name: kubetorch, image: "registry.example.com/shop/queue:2.0.0", command: [/app/queue]}]}`),
	"DaemonSet/cache": moveTarget("cache", "apps/v1", "DaemonSet", `
    spec:
      template:
        spec: {containers: [{name: kubetorch, image: "registry.example.com/shop/cache:1.0.0", command: [/app/cache]}]}`),
	"CronJob/nightly": moveTarget("nightly", "batch/v1", "CronJob", `
    spec:
      schedule: 0 3 * * *
      jobTemplate:
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
              - {name: kubetorch, image: "registry.example.com/shop/nightly:1.0.0", command: [/app/nightly]}`),
	"Job/migrate": moveTarget("migrate", "batch/v1", "Job", `
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - {name: kubetorch, image: "registry.example.com/shop/migrate:1.0.0", command: [/app/migrate]}`),
	"PersistentVolumeClaim/datasets": {"kt_volume.datasets", moveVolume("10Gi", "ReadWriteOnce")},
	"Secret/token": {"kt_secret.token", `
resource "kt_secret" "token" {
  name     = "token"
  env_vars = { TOKEN = "TOKEN" }
}`},
}

func moveVolume(size, accessMode string) string {
	return fmt.Sprintf(`
resource "kt_volume" "datasets" {
  name        = "datasets"
  size        = %q
  access_mode = %q
}`, size, accessMode)
}

func moveTarget(name, apiVersion, kind, spec string) struct{ address, config string } {
	return struct{ address, config string }{"kt_compute." + name, fmt.Sprintf(`
resource "kt_compute" %[1]q {
  name                 = %[1]q
  freeze               = true
  service_account_name = "default"
  manifest             = <<-YAML
    apiVersion: %[2]s
    kind: %[3]s%[4]s
  YAML
}`, name, apiVersion, kind, spec)}
}

// move is a working directory with the state of a peer, and the objects of that state in the cluster.
type move struct {
	*acctest.CLI
	namespace string
	uids      map[string]string // by kind and name
}

// newMove creates objects with the field manager of a peer, and loads its state.
func newMove(t *testing.T, peer string, objects ...string) move {
	t.Helper()
	m := move{CLI: acctest.NewCLI(t), namespace: cluster.Namespace(t), uids: map[string]string{}}
	m.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
	m.Setenv("KT_NAMESPACE", m.namespace)
	m.Setenv("TOKEN", "not-a-real-token")
	m.overridePeers(t)
	text, err := os.ReadFile(acctest.Testdata(filepath.Join("moved", peer, "state.json")))
	if err != nil {
		t.Fatal(err)
	}
	state := strings.ReplaceAll(string(text), "NAMESPACE", m.namespace)
	if host := os.Getenv("TF_ACC_PROVIDER_HOST"); host != "" {
		state = strings.ReplaceAll(state, "registry.terraform.io", host)
	}
	for _, object := range objects {
		file := filepath.Join(t.TempDir(), "object.yaml")
		if err := os.WriteFile(file, []byte(moveObjects[object]), 0o600); err != nil {
			t.Fatal(err)
		}
		cluster.Kubectl(t, append(slices.Clone(peers[peer].write), "-n", m.namespace, "-f", file)...)
		m.uids[object] = m.uid(t, object)
		state = strings.ReplaceAll(state, "UID/"+object, m.uids[object])
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
		return !slices.ContainsFunc(objects, func(object string) bool { return peers[peer].resources[object] == address })
	})
	out, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.Dir, "terraform.tfstate"), out, 0o600); err != nil {
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

func (m move) uid(t *testing.T, object string) string {
	t.Helper()
	return cluster.Kubectl(t, "get", object, "-n", m.namespace, "-o", "jsonpath={.metadata.uid}")
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
			for _, object := range objects {
				if got := m.uid(t, object); got != m.uids[object] {
					t.Errorf("%s has the UID %s, was %s", object, got, m.uids[object])
				}
			}
			m.MustRun(t, "plan", "-detailed-exitcode")
			m.expectNoSecret(t)
			m.MustRun(t, "destroy", "-auto-approve")
			for _, object := range objects {
				if out, err := cluster.TryKubectl(t, "get", object, "-n", m.namespace); err == nil {
					t.Errorf("%s still exists: %s", object, out)
				}
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
	state, err := os.ReadFile(filepath.Join(m.Dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(state), "not-a-real-token") {
		t.Errorf("the state contains the value of the secret:\n%s", state)
	}
}

func requireMoves(t *testing.T) {
	t.Helper()
	acctest.NewCLI(t) // skips the test without TF_ACC
}
