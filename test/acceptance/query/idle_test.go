package query_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// idle are two claims, one of which a pod uses, and a Deployment without pods.
const idle = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: used}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: unused}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  containers: [{name: reader, image: "reader:1.0"}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: used}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: asleep}
spec:
  replicas: 0
  selector: {matchLabels: {app: asleep}}
  template:
    metadata: {labels: {app: asleep}}
    spec: {containers: [{name: asleep, image: "asleep:1.0", resources: {limits: {nvidia.com/gpu: 8}}}]}
`

// The query and the script of the guide about pools find what is idle and unused.
func TestAccTheGuideFindsIdleComputesAndUnusedVolumes(t *testing.T) {
	t.Parallel()
	ns := withCRDs.Namespace(t)
	q := newQueries(t, withCRDs.Config(ns, ""))
	withCRDs.Apply(t, idle, "-n", ns)
	dir := filepath.Join(acctest.Root(), "examples", "guides", "idle")
	if err := os.CopyFS(q.Dir, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	acctest.ExpectText(t, q.MustRun(t, "query"), "Deployment "+ns+"/asleep, suspended")

	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("the script requires jq")
	}
	terraform := q.Command(t.Context())
	bin := withCRDs.KubectlDir(t, ns)
	if err := os.Symlink(terraform.Path, filepath.Join(bin, "terraform")); err != nil {
		t.Fatal(err)
	}
	script := exec.CommandContext(t.Context(), "bash", "unused-volumes.sh")
	script.Dir = q.Dir
	path := "PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH")
	script.Env = slices.Concat(terraform.Env, []string{path})
	out, err := script.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := strings.Fields(string(out))
	if slices.Contains(found, ns+"/used") || !slices.Contains(found, ns+"/unused") {
		t.Errorf("the script finds %q", found)
	}
}
