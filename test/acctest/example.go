package acctest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Example is a directory of examples/ and its prerequisites. The IDs in its import blocks have the namespace ml, which
// Run replaces.
type Example struct {
	Dir string
	Env map[string]string
	// Without are files that are not applied.
	Without []string
	// KubernetesProvider is whether it also uses hashicorp/kubernetes.
	KubernetesProvider bool
	// Prepare creates prerequisites in the cluster.
	Prepare func(t *testing.T, ns string)
	// Check checks the objects of the example before it is destroyed.
	Check func(t *testing.T, ns string)
}

// changed matches the result of an apply that did something.
var changed = regexp.MustCompile(`Apply complete! Resources: .*[1-9]\d* (imported|added|changed)`)

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
	if e.KubernetesProvider {
		cli.UseKubernetesProvider(t)
		cli.Setenv("KUBE_CONFIG", on.Kubeconfig()) // before release 2, KUBE_CONFIG_PATH had this name
	}
	for name, value := range e.Env {
		cli.Setenv(name, value)
	}
	cli.Copy(t, filepath.Join(Root(), "examples", e.Dir))
	for _, name := range e.Without {
		if err := os.Remove(filepath.Join(cli.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if useModules(t, cli.Dir) {
		cli.MustRun(t, "get") // the provider is there
	}
	replaceIn(t, cli.Dir, `id = "ml/`, fmt.Sprintf("id = \"%s/", ns))
	if out := cli.MustRun(t, "apply", "-auto-approve"); !changed.MatchString(out) {
		t.Fatalf("the example changes nothing:\n%s", out)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode") // an error if there is anything to do
	if e.Check != nil {
		e.Check(t, ns)
	}
	if unprotect(t, cli.Dir) {
		cli.MustRun(t, "apply", "-auto-approve")
	}
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

// unprotect disables deletion protection in the files of a directory, and returns whether it was enabled.
func unprotect(t *testing.T, dir string) bool {
	t.Helper()
	return replaceIn(t, dir, "deletion_protection = true", "deletion_protection = false")
}

// useModules makes copied examples use the modules of the project, and returns whether they use any.
func useModules(t *testing.T, dir string) bool {
	t.Helper()
	return replaceIn(t, dir, `"../../modules/`, `"`+Modules(t)+"/")
}

// Modules returns a directory with a copy of the modules for the release of hashicorp/kubernetes that the tests use,
// the newest that is a Go module. Its resources are the same as those with the suffix _v1 of release 2.7 and newer.
func Modules(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(Root(), "modules"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"namespace", "resource_quota", "role", "role_binding", "service_account"} {
		replaceIn(t, dir, "kubernetes_"+name+"_v1", "kubernetes_"+name)
	}
	return dir
}

// replaceIn replaces a text in the configurations and tests of a directory, and returns whether one contains it.
func replaceIn(t *testing.T, dir, old, by string) (replaced bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || (filepath.Ext(file) != ".tf" && filepath.Ext(file) != ".hcl") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte(old)) {
			return err
		}
		replaced = true
		text = bytes.ReplaceAll(text, []byte(old), []byte(by))
		return os.WriteFile(file, text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return replaced
}
