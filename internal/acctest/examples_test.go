package acctest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// prerequisites are what an example takes for granted in its namespace.
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

func TestAccExamplesApplyWithAnEmptySecondPlan(t *testing.T) {
	t.Parallel()
	if cluster == nil {
		t.Skip("TF_ACC is not set")
	}
	files, err := filepath.Glob(filepath.Join(acctest.Root(), "examples", "*", "main.tf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			cluster.Apply(t, prerequisites, "-n", ns)
			cli := acctest.NewCLI(t)
			cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig)
			cli.Setenv("KT_NAMESPACE", ns)
			if err := os.CopyFS(cli.Dir, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			cli.MustRun(t, "apply", "-auto-approve")
			cli.MustRun(t, "plan", "-detailed-exitcode") // an error if there is anything to do
			unprotect(t, filepath.Join(cli.Dir, "main.tf"))
			cli.MustRun(t, "apply", "-auto-approve")
			cli.MustRun(t, "destroy", "-auto-approve")
			if left := cluster.Kubectl(t, "get", "deployments,services,pods", "-n", ns, "-o", "name"); left != "" {
				t.Errorf("left behind:\n%s", left)
			}
		})
	}
}

func unprotect(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.ReplaceAll(string(text), "deletion_protection = true", "deletion_protection = false"))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
