package query_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccQueryExamplesRunWithTheRoleOfTheGuide(t *testing.T) {
	t.Parallel()
	ns := withCRDs.Namespace(t)
	acctest.RequireTerraform(t, "1.14")
	examples := filepath.Join(acctest.Root(), "examples")
	withCRDs.Kubectl(t, "apply", "-f", filepath.Join(examples, "guides", "adoption", "query-role.yaml"))
	withCRDs.Kubectl(t, "create", "serviceaccount", "query", "-n", ns)
	withCRDs.Kubectl(t, "create", "clusterrolebinding", "query-"+ns, "--clusterrole=kt-query",
		"--serviceaccount="+ns+":query")
	t.Cleanup(func() { withCRDs.Kubectl(t, "delete", "clusterrolebinding", "query-"+ns) })
	token := withCRDs.Kubectl(t, "create", "token", "query", "-n", ns)
	withCRDs.Apply(t, adopted, "-n", ns)

	files, err := filepath.Glob(filepath.Join(examples, "list-resources", "*", "*.tfquery.hcl"))
	if err != nil || len(files) != 5 {
		t.Fatal(err, files)
	}
	for _, file := range append(files, filepath.Join(examples, "guides", "adoption", "fleet.tfquery.hcl")) {
		q := newQueries(t, "provider \"kt\" {\n"+withCRDs.TokenAttributes(t, ns, token)+"}\n")
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(q.Dir, "example.tfquery.hcl"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		out := q.MustRun(t, "query")
		denied := strings.Contains(out, "The list lacks the objects")
		if denied != strings.Contains(file, "kt_secret") {
			t.Errorf("%s: a kind cannot be listed: %v\n%s", file, denied, out)
		}
		if filepath.Base(file) == "fleet.tfquery.hcl" {
			acctest.ExpectText(t, out, "Deployment "+ns+"/vllm", "Deployment "+ns+"/python")
		}
	}
}
