package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// workloadsOfControllers returns a workload of each kind that a controller of ecosystem/ runs, by name. container is
// the name of the main container where the kind does not prescribe it.
func workloadsOfControllers(container string) map[string]string {
	pod := func(container string) string {
		pod := fmt.Sprintf(podOfAnother, "other", "Always")
		return strings.Replace(pod, "name: main", "name: "+container, 1)
	}
	job := strings.Replace(pod(container), "Always", "Never", 1)
	training := func(name, kind, field, container string) string {
		return "apiVersion: kubeflow.org/v1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {" + field +
			": {Master: {replicas: 1, template: {" + pod(container) + "}}}}\n"
	}
	return map[string]string{
		"jobset": "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: jobset}\n" +
			"spec: {replicatedJobs: [{name: workers, replicas: 1, template: {spec: {template: {" + job + "}}}}]}\n",
		"groups": "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: groups}\n" +
			"spec: {replicas: 1, leaderWorkerTemplate: {size: 1, workerTemplate: {" + pod(container) + "}}}\n",
		"ray": "apiVersion: ray.io/v1\nkind: RayCluster\n" +
			"metadata: {name: ray, annotations: {ray.io/overwrite-container-cmd: \"true\"}}\n" +
			"spec: {headGroupSpec: {rayStartParams: {}, template: {" + ray(pod(container)) + "}}}\n",
		"pytorch": training("pytorch", "PyTorchJob", "pytorchReplicaSpecs", "pytorch"),
		"xgboost": training("xgboost", "XGBoostJob", "xgbReplicaSpecs", "xgboost"),
		"tf":      strings.Replace(training("tf", "TFJob", "tfReplicaSpecs", "tensorflow"), "Master", "Chief", 1),
	}
}

// ray returns a pod of a Ray head with probes, since those of KubeRay call Ray.
func ray(pod string) string {
	const probe = `{httpGet: {path: /health, port: 8080}}`
	return strings.Replace(pod, "args:", "command: ["+program+"], readinessProbe: "+probe+", livenessProbe: "+probe+
		", args:", 1)
}

// TestE2EActionsRunInWorkloadsOfControllers runs commands and checkpoints in real pods of the kinds whose controllers
// are in ecosystem/: of adopted workloads, and of computes that the provider creates from the same manifests.
func TestE2EActionsRunInWorkloadsOfControllers(t *testing.T) {
	t.Parallel()
	if os.Getenv("KT_ECOSYSTEM") == "" {
		t.Skip("KT_ECOSYSTEM is not set")
	}
	acctest.RequireTerraform(t, "1.14")
	names := slices.Sorted(maps.Keys(workloadsOfControllers("")))
	t.Run("adopted", func(t *testing.T) {
		t.Parallel()
		cli, ns := terraform(t)
		createToken(t, ns)
		config := adopted(t, cli, ns, workloadsOfControllers("main"), func() {
			acctest.WaitUntil(t, "each workload has a pod", func() bool {
				return len(strings.Fields(pods(t, ns))) == len(names)
			})
			cluster.Kubectl(t, "wait", "-n", ns, "--for=condition=Ready", "pods", "--all", "--timeout=60s")
		})
		expectActions(t, cli, config, names)
		expectOperations(t, cli, ns, config, names)
	})
	t.Run("created", func(t *testing.T) {
		t.Parallel()
		cli, ns := terraform(t)
		createToken(t, ns)
		config := "provider \"kt\" {}\n"
		for name, text := range workloadsOfControllers("kubetorch") {
			config += fmt.Sprintf("resource \"kt_compute\" %[1]q {\n  name = %[1]q\n"+
				"  manifest = <<-EOT\n%[2]sEOT\n}\n", name, text)
		}
		expectActions(t, cli, config, names)
		expectOperations(t, cli, ns, config, names)
	})
}

// expectOperations suspends and resumes workloads that a configuration manages, and restarts those whose pods do not
// run to completion. Each action waits until the controller is done. Plans show a suspension, and nothing after the
// others.
func expectOperations(t *testing.T, cli *acctest.CLI, namespace, config string, computes []string) {
	t.Helper()
	for _, name := range computes {
		for _, action := range []string{"kt_suspend", "kt_resume", "kt_restart"} {
			config += fmt.Sprintf("action %q %q {\n  config {\n    id = kt_compute.%s.id\n  }\n}\n", action, name, name)
		}
	}
	cli.Write(t, config)
	before := pods(t, namespace)
	invokeEach := func(action string) {
		t.Helper()
		for _, name := range computes {
			if out, err := invoke(t, cli, action+"."+name); err != nil {
				t.Errorf("%s of %s: %v\n%s", action, name, err, out)
			}
		}
	}
	invokeEach("kt_suspend")
	if left := pods(t, namespace, "--field-selector=status.phase=Running"); left != "" {
		t.Errorf("pods run after the suspension: %s", left)
	}
	out, _ := cli.Run(t, "plan")
	for _, name := range computes {
		if !strings.Contains(out, "# kt_compute."+name+" will be updated in-place") {
			t.Errorf("the plan does not show the suspension of %s:\n%s", name, out)
		}
	}
	invokeEach("kt_resume")
	resumed := pods(t, namespace)
	if len(strings.Fields(resumed)) != len(strings.Fields(before)) {
		t.Errorf("pods before the suspension: %s; after the resumption: %s", before, resumed)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
	uids := func() string { return pods(t, namespace, "-o", "jsonpath={.items[*].metadata.uid}") }
	running := uids()
	for _, name := range computes {
		out, err := invoke(t, cli, "kt_restart."+name)
		refused := strings.Contains(unwrapped(out), "does not support this operation. Its pods run to completion")
		if runs := name == "groups" || name == "ray"; (err == nil) != runs || refused == runs {
			t.Errorf("kt_restart of %s: %v\n%s", name, err, out)
		}
	}
	left := slices.DeleteFunc(strings.Fields(running), func(uid string) bool { return !strings.Contains(uids(), uid) })
	if len(left) != len(computes)-2 {
		t.Errorf("%d of %d pods were not restarted", len(left), len(computes))
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
}
