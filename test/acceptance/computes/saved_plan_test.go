package computes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// savedPlan is a plan file that is applied later.
type savedPlan struct {
	cli  *acctest.CLI
	file string
}

func savePlan(t *testing.T, cli *acctest.CLI) savedPlan {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan")
	cli.MustRun(t, "plan", "-out", file)
	return savedPlan{cli, file}
}

func (p savedPlan) apply(t *testing.T) {
	t.Helper()
	p.cli.MustRun(t, "apply", p.file)
}

// CRDs and storage classes are cluster-scoped. This test therefore uses a separate
// cluster, without the CRD of Kubetorch.
func TestAccSavedPlanAppliesAfterKindsAndClassesWereInstalled(t *testing.T) {
	t.Parallel()
	own := acctest.OwnCluster(t)
	ns := own.Namespace(t)
	registrations := func() string {
		return own.Kubectl(t, "get", "kubetorchworkloads", "-n", ns, "-o", "name")
	}
	const ray = "distribute = { type = \"ray\", workers = 2 }\n on_not_ready = \"ignore\""
	cli := acctest.NewAttachedCLI(t)
	write := func(text ...string) { cli.Write(t, own.Config(ns, strings.Join(text, "\n"))) }

	write(acctest.ComputeNamed("before", ""))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode", "-refresh=false") // the registration is null
	cli.MustRun(t, "plan", "-detailed-exitcode")

	write(acctest.ComputeNamed("before", `memory = "1Gi"`), acctest.ComputeNamed("after", ""),
		acctest.Volume("size = \"1Gi\"\n wait_for_bound = false"), acctest.ComputeNamed("cluster", ray))
	saved := savePlan(t, cli)
	own.InstallCRD(t, acctest.Testdata("kubetorchworkload-crd.yaml"), "kubetorchworkloads.kubetorch.com")
	own.InstallRayCluster(t)
	own.Apply(t,
		"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: shared}\nprovisioner: nfs.csi.k8s.io")
	saved.apply(t)
	if got, want := registrations(),
		"kubetorchworkload.kubetorch.com/after\nkubetorchworkload.kubetorch.com/cluster"; got != want {
		t.Errorf("the registrations are %q, want those that the saved plan creates: %q", got, want)
	}
	if got := own.Kubectl(t, "get", "persistentvolumeclaim/data", "-n", ns, "-o",
		"jsonpath={.spec.storageClassName}"); got != "shared" {
		t.Errorf("the storage class is %q, want the best one at the time of the apply", got)
	}

	a := cli.RunJSON(t, "plan")
	if len(a.Planned) != 1 || a.Planned["kt_compute.before"] != "update" {
		t.Errorf("the next plan has %v, want only the registration of the existing compute:\n%s", a.Planned, a)
	}
	saved = savePlan(t, cli)
	saved.apply(t)
	if !strings.Contains(registrations(), "/before") {
		t.Error("the existing compute is not registered")
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// A saved plan is applied with other environment variables. They do not change
// planned values.
func TestAccSavedPlanAppliesInAnotherEnvironment(t *testing.T) {
	t.Parallel()
	ns, other := cluster.Namespace(t), cluster.Namespace(t)
	withNamespace := func(namespace string) string {
		text, err := os.ReadFile(cluster.Kubeconfig())
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		cluster.Kubectl(t, "config", "set-context", "--current", "--namespace", namespace, "--kubeconfig", file)
		return file
	}
	planner, applier := acctest.NewAttachedCLI(t), acctest.NewCLI(t)
	applier.Dir = planner.Dir
	for name, value := range map[string]string{
		"KT_USERNAME": "alice", "KT_LAUNCH_TIMEOUT": "90", "KT_GPU_ANTI_AFFINITY": "1",
		"KUBE_CONFIG_PATH": withNamespace(ns), "USER": "alice",
	} {
		planner.Setenv(name, value)
	}
	for name, value := range map[string]string{
		"KT_USERNAME": "bob", "KT_LAUNCH_TIMEOUT": "600", "KUBE_CONFIG_PATH": withNamespace(other), "USER": "bob",
	} {
		applier.Setenv(name, value)
	}
	resources := func(attributes string) string {
		return fmt.Sprintf("resource \"kt_compute\" \"trainer\" {\n name = \"trainer\"\n %s\n}\n", attributes) +
			"resource \"kt_secret\" \"token\" {\n name = \"token\"\n values = { A = \"b\" }\n}\n" +
			acctest.Volume(acctest.SmallVolume)
	}
	configured := fmt.Sprintf("provider \"kt\" {\n namespace = %q\n username = \"carol\"\n launch_timeout = \"2m\"\n "+
		"gpu_anti_affinity = false\n}\n", ns)

	t.Log("create, with all settings in the provider block")
	planner.Write(t, configured+resources(""))
	saved := savePlan(t, planner)
	saved.cli = applier
	saved.apply(t)
	planner.MustRun(t, "plan", "-detailed-exitcode")
	applier.MustRun(t, "plan", "-detailed-exitcode")
	planner.MustRun(t, "destroy", "-auto-approve")

	t.Log("create, with settings from the environment: objects that differ from the plan are not created")
	planner.Write(t, "provider \"kt\" {\n}\n"+resources(""))
	saved = savePlan(t, planner)
	saved.cli = applier
	out, err := applier.Run(t, "apply", saved.file)
	if err == nil {
		t.Errorf("the apply succeeded, although its environment changes the plan:\n%s", out)
	}
	acctest.ExpectText(t, out, "inconsistent final plan",
		".namespace: was cty.StringVal(\""+ns+"\"), but now cty.StringVal(\""+other+"\")")
	for _, namespace := range []string{ns, other} {
		if left := cluster.Kubectl(t, "get", "deployments,services,persistentvolumeclaims", "-n", namespace, "-o",
			"name"); left != "" {
			t.Errorf("namespace %s contains %s", namespace, left)
		}
	}

	t.Log("update of existing objects")
	planner.MustRun(t, "apply", "-auto-approve")
	planner.Write(t, "provider \"kt\" {\n}\n"+resources("memory = \"1Gi\""))
	saved = savePlan(t, planner)
	saved.cli = applier
	saved.apply(t)
	planner.MustRun(t, "plan", "-detailed-exitcode")
	applier.MustRun(t, "plan", "-detailed-exitcode")
	planner.MustRun(t, "destroy", "-auto-approve")
}

// The number of replicas determines the update strategy, which a failed update must not change.
func TestAccFailedUpdateOfReplicasCanBeReverted(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	before := cluster.Config(ns, acctest.Compute("replicas = 1"))
	cli.Write(t, before)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.Write(t, cluster.Config(ns, acctest.Compute("replicas = 3\n pod_disruption_budget = { max_unavailable = 1 }")))
	cli.MustRun(t, "plan", "-out=tfplan")
	cluster.Kubectl(t, "create", "poddisruptionbudget", "trainer", "-n", ns, "--selector=app=other",
		"--min-available=1")
	if out, err := cli.Run(t, "apply", "tfplan"); err == nil {
		t.Fatalf("the budget of another client was taken over:\n%s", out)
	}
	cluster.Kubectl(t, "delete", "poddisruptionbudget", "trainer", "-n", ns)
	cli.Write(t, before)
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}
