package failures_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccLostResponseLeavesNoOrphan(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		resources string
		object    string // whose answers are lost
		warning   bool   // nothing is tainted
		kind      string
	}{
		"compute": {acctest.Compute(`image = "python:3.12"`), "/deployments/trainer", false,
			"deployment,service"},
		"Service of a compute": {acctest.Compute(`image = "python:3.12"`), "/services/trainer", true,
			"deployment,service"},
		"secret": {`resource "kt_secret" "token" {
  name      = "token"
  values_wo = { TOKEN = "x" }
}`, "/secrets/token", false, "secret/token"},
		"volume": {acctest.Volume("size = \"1Gi\"\n" + acctest.ReadWriteOnce), "/persistentvolumeclaims/data", true,
			"persistentvolumeclaim"},
		"image": {`resource "kt_image" "base" {
  name  = "base"
  base  = "python:3.12"
  steps = [{ run_bash = "true" }]
}`, "/configmaps/kt-image-base", false, "configmap/kt-image-base"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			proxy := acctest.NewLossyProxy(t, cluster, func(request *http.Request) bool {
				return acctest.Writes(request, test.object)
			})
			cli := acctest.NewAttachedCLI(t)
			cli.Write(t, proxy.Config(ns, test.resources))
			a := cli.RunJSON(t, "apply", "-auto-approve")
			if a.Failed == test.warning || proxy.Lost.Load() < 2 {
				t.Errorf("failed: %t, %d answers were lost\n%s", a.Failed, proxy.Lost.Load(), a)
			}
			state := cli.State(t)
			if len(state) != 1 || (state[0].Status == "tainted") == test.warning {
				t.Errorf("the state is %+v", state)
			}
			proxy.Repaired.Store(true)
			cli.MustRun(t, "destroy", "-auto-approve")
			if left := cluster.Kubectl(t, "get", test.kind, "-n", ns, "--ignore-not-found", "-o",
				"name"); strings.TrimSpace(left) != "" {
				t.Errorf("after the destroy there is still %s", left)
			}
		})
	}
}

func TestAccLostResponseIsCompletedByTheNextApplyWithoutReplacement(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		resources, object, kept, missing string
		before                           bool
	}{
		"Service of a compute": {acctest.Compute(`image = "python:3.12"`), "/services/trainer", "deployment/trainer",
			"service/trainer", true},
		"volume": {acctest.Volume("size = \"1Gi\"\n" + acctest.ReadWriteOnce), "/persistentvolumeclaims/data",
			"persistentvolumeclaim/data", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			proxy := acctest.NewLossyProxy(t, cluster, func(request *http.Request) bool {
				return acctest.Writes(request, test.object)
			})
			proxy.DropRequests = test.before
			cli := acctest.NewAttachedCLI(t)
			cli.Write(t, proxy.Config(ns, test.resources))
			cli.MustRun(t, "apply", "-auto-approve")
			uid := func() string {
				return cluster.Kubectl(t, "get", test.kept, "-n", ns, "-o", "jsonpath={.metadata.uid}")
			}
			before := uid()
			proxy.Repaired.Store(true)
			cli.MustRun(t, "apply", "-auto-approve")
			if after := uid(); after != before {
				t.Errorf("%s was replaced", test.kept)
			}
			if test.missing != "" {
				cluster.Kubectl(t, "get", test.missing, "-n", ns)
			}
			cli.MustRun(t, "plan", "-detailed-exitcode")
			cli.MustRun(t, "destroy", "-auto-approve")
		})
	}
}

// Terraform stores what a failed apply returned as the private state: nothing, if the provider was killed.
func TestAccUpdateAfterTheLossOfThePrivateStateKeepsAllObjects(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string][]string{
		"with a refresh": {"apply", "-auto-approve"}, "without a refresh": {"apply", "-auto-approve", "-refresh=false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := acctest.NewAttachedCLI(t)
			cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
			cli.Setenv("KT_NAMESPACE", cluster.Namespace(t))
			cli.Write(t, acctest.Compute(`image = "python:3.12"`))
			cli.MustRun(t, "apply", "-auto-approve")
			file := cli.StateFile()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			without := regexp.MustCompile(`,\s*"private": "[^"]+"`).ReplaceAll(text, nil)
			if len(without) == len(text) || !json.Valid(without) {
				t.Fatal("the state does not end with the private state")
			}
			if err := os.WriteFile(file, without, 0o600); err != nil {
				t.Fatal(err)
			}
			cli.Write(t, acctest.Compute(`image = "python:3.13"`))
			cli.MustRun(t, arguments...)
			cli.MustRun(t, "plan", "-detailed-exitcode")
			cli.MustRun(t, "plan", "-detailed-exitcode", "-refresh=false")
			cli.MustRun(t, "destroy", "-auto-approve")
		})
	}
}
