package acctest_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// prerequisites are what production-service takes for granted in its namespace.
const prerequisites = `
apiVersion: v1
kind: Secret
metadata: {name: huggingface}
stringData: {HF_TOKEN: not-a-real-token}
---
apiVersion: v1
kind: Secret
metadata: {name: aws}
stringData: {credentials: none}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: weights}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`

// An example is a folder of examples/ and what it takes for granted.
type example struct {
	dir string
	env map[string]string
	// prepare makes what must be in the cluster.
	prepare func(t *testing.T, ns string)
}

func TestAccExamplesApplyWithAnEmptySecondPlan(t *testing.T) {
	t.Parallel()
	for _, e := range []example{
		{dir: "cpu-service"},
		{dir: "gpu-training"},
		{dir: "production-service", prepare: func(t *testing.T, ns string) {
			t.Helper()
			cluster.Apply(t, prerequisites, "-n", ns)
		}},
		{dir: "ddp-training"},
		{dir: "team-storage", env: map[string]string{"HF_TOKEN": "not-a-real-token"}},
	} {
		t.Run(e.dir, func(t *testing.T) {
			t.Parallel()
			if cluster == nil {
				t.Skip("TF_ACC is not set")
			}
			e.run(t, cluster)
		})
	}
	t.Run("autoscaled-inference", func(t *testing.T) {
		t.Parallel()
		on := withCRDs.Get(t)
		example{dir: "autoscaled-inference", prepare: func(t *testing.T, ns string) {
			t.Helper()
			knative().play(t, on, ns)
		}}.run(t, on)
	})
	t.Run("tensor-server", func(t *testing.T) {
		t.Parallel()
		on := withComputes(t)
		example{dir: "tensor-server", prepare: func(t *testing.T, ns string) {
			t.Helper()
			skyTorch().play(t, on, ns)
		}}.run(t, on)
	})
}

func TestEcoExamplesApplyWithAnEmptySecondPlan(t *testing.T) {
	t.Parallel()
	for _, e := range []example{
		{dir: "ray-cluster"},
		{dir: "pytorchjob-kueue", env: map[string]string{"TF_VAR_queue": "team"}, prepare: func(t *testing.T, ns string) {
			t.Helper()
			withControllers(t).Queue(t, ns, 4)
		}},
		{dir: "gpu-pool", env: map[string]string{"WANDB_API_KEY": "not-a-real-key"}},
	} {
		t.Run(e.dir, func(t *testing.T) {
			t.Parallel()
			e.run(t, withControllers(t).Cluster)
		})
	}
}

// All examples are in one of the tests above.
func TestAccExamplesAreAllRun(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(acctest.Root(), "examples", "*", "main.tf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	source, err := os.ReadFile("examples_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if dir := filepath.Base(filepath.Dir(file)); !strings.Contains(string(source), fmt.Sprintf("dir: %q", dir)) {
			t.Errorf("no test applies examples/%s", dir)
		}
	}
}

func (e example) run(t *testing.T, on *acctest.Cluster) {
	t.Helper()
	ns := on.Namespace(t)
	if e.prepare != nil {
		e.prepare(t, ns)
	}
	cli := acctest.NewCLI(t)
	cli.Setenv("KUBE_CONFIG_PATH", on.Kubeconfig)
	cli.Setenv("KT_NAMESPACE", ns)
	cli.Setenv("PATH", on.KubectlDir(t, ns)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for name, value := range e.env {
		cli.Setenv(name, value)
	}
	if err := os.CopyFS(cli.Dir, os.DirFS(filepath.Join(acctest.Root(), "examples", e.dir))); err != nil {
		t.Fatal(err)
	}
	cli.MustRun(t, "get") // modules; the provider is there
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode") // an error if there is anything to do
	unprotect(t, cli.Dir)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "destroy", "-auto-approve")
	const kinds = "deployments,services,pods,configmaps,secrets,persistentvolumeclaims"
	if left := on.Kubectl(t, "get", kinds, "-n", ns, "-l", "app.kubernetes.io/managed-by,app.kubernetes.io/managed-by!=skytorch-operator", "-o", "name"); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
	if left := on.Kubectl(t, "get", "pods", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// unprotect lets all that is protected from deletion be deleted.
func unprotect(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".tf" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(file, bytes.ReplaceAll(text, []byte("deletion_protection = true"), []byte("deletion_protection = false")), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
