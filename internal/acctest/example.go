package acctest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Example is a directory of examples/ and its prerequisites.
type Example struct {
	Dir string
	Env map[string]string
	// Prepare creates prerequisites in the cluster.
	Prepare func(t *testing.T, ns string)
}

// Run applies the example, checks that the next plan is empty, and destroys it.
func (e Example) Run(t *testing.T, on *Cluster) {
	t.Helper()
	ns := on.Namespace(t)
	if e.Prepare != nil {
		e.Prepare(t, ns)
	}
	cli := NewCLI(t)
	cli.Setenv("KUBE_CONFIG_PATH", on.Kubeconfig())
	cli.Setenv("KT_NAMESPACE", ns)
	cli.Setenv("PATH", on.KubectlDir(t, ns)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for name, value := range e.Env {
		cli.Setenv(name, value)
	}
	if err := os.CopyFS(cli.Dir, os.DirFS(filepath.Join(Root(), "examples", e.Dir))); err != nil {
		t.Fatal(err)
	}
	cli.MustRun(t, "get") // modules; the provider is there
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode") // an error if there is anything to do
	unprotect(t, cli.Dir)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "destroy", "-auto-approve")
	const kinds = "deployments,services,pods,configmaps,secrets,persistentvolumeclaims"
	managed := "app.kubernetes.io/managed-by,app.kubernetes.io/managed-by!=skytorch-operator"
	if left := on.Kubectl(t, "get", kinds, "-n", ns, "-l", managed, "-o", "name"); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
	if left := on.Kubectl(t, "get", "pods", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// unprotect disables deletion protection in the files of a directory.
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
		text = bytes.ReplaceAll(text, []byte("deletion_protection = true"), []byte("deletion_protection = false"))
		return os.WriteFile(file, text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
