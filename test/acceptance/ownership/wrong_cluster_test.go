package ownership_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func clusterUID(t *testing.T, c *acctest.Cluster) string {
	t.Helper()
	return c.Kubectl(t, "get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}")
}

// A wrong kubeconfig must not be reported as deleted objects, and a removed CRD
// must not be reported as a wrong kubeconfig.
func TestAccWrongClusterIsDistinguishedFromARemovedKind(t *testing.T) {
	t.Parallel()
	other := acctest.OwnCluster(t, "--crds", acctest.Testdata("kubetorchworkload-crd.yaml"))
	ns := other.Namespace(t)
	other.Apply(t, strings.NewReplacer("fleets", "ships", "fleet", "ship", "Fleet", "Ship").Replace(acctest.FleetCRD))
	other.Established(t, "ships.example.com", "kubetorchworkloads.kubetorch.com")
	ship := acctest.BareCompute(acctest.Manifest("apiVersion: example.com/v1\nkind: Ship\nspec: {template: {spec: "+
		"{containers: [{name: kubetorch}]}}}") +
		"pod_template_path = \"spec.template\"\n on_not_ready = \"ignore\"")
	config := ofEveryKind("it", "") + ship

	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, other.Config(ns, config))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	state := func() string {
		t.Helper()
		data, err := os.ReadFile(cli.StateFile())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	before := state()

	cli.Write(t, cluster.Config(ns, config))
	for _, command := range [][]string{{"plan"}, {"plan", "-refresh=false"}, {"destroy", "-auto-approve"},
		{"destroy", "-auto-approve", "-refresh=false"}} {
		out, err := cli.Run(t, command...)
		if err == nil {
			t.Errorf("%v succeeded in another cluster:\n%s", command, out)
		}
		acctest.ExpectText(t, out, "configured for another cluster", clusterUID(t, cluster), clusterUID(t, other),
			"terraform state rm")
		if got := strings.Count(out, "is configured for another cluster"); got != len(kinds())+1 {
			t.Errorf("%v: %d errors, want one per resource:\n%s", command, got, out)
		}
	}
	if state() != before {
		t.Errorf("the state has changed from\n%s\nto\n%s", before, state())
	}

	cli.Write(t, other.Config(ns, config))
	cli.MustRun(t, "plan", "-detailed-exitcode")
	other.Kubectl(t, "delete", "crd/kubetorchworkloads.kubetorch.com", "crd/ships.example.com")
	out := cli.MustRun(t, "plan")
	acctest.ExpectText(t, out, "was deleted with its CustomResourceDefinition")
	cli.MustRun(t, "apply", "-auto-approve", "-target=kt_compute.it")
	cli.MustRun(t, "destroy", "-auto-approve")
	if left := other.Kubectl(t, "get", "deployments,services,secrets,configmaps,persistentvolumeclaims", "-n", ns, "-o",
		"name",
		"-l", "app.kubernetes.io/managed-by=terraform-provider-kt"); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}
