package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// podsOfEach is the number of pods of each workload of workloadsOfControllers.
const podsOfEach = 2

// workloadsOfControllers returns a workload of each kind that a controller of ecosystem/ runs, by name. container is
// the name of the main container where the kind does not prescribe it. A pod of a job that is deleted fails, as that of
// a program without a handler of SIGTERM: one that exits with 0 would complete the job.
//
// The PyTorchJob has only workers. With a master, its operator adds an init container to them that resolves its name,
// and the real nodes have no DNS (setInitContainer in pkg/controller.v1/pytorch of the training operator).
func workloadsOfControllers(container string) map[string]string {
	pod := func(container, restart string) string {
		pod := fmt.Sprintf(podOfAnother, "other", restart)
		return strings.NewReplacer("name: main", "name: "+container, `"8080"]`, `"8080", "-exit", "143"]`).Replace(pod)
	}
	job, server := pod(container, "Never"), pod(container, "Always")
	training := func(name, kind, field, container, policy string, roles ...string) string {
		specs := ""
		for _, role := range roles {
			specs += fmt.Sprintf("%s: {replicas: %d, %s template: {%s}}, ", role, podsOfEach/len(roles), policy,
				pod(container, "Never"))
		}
		return "apiVersion: kubeflow.org/v1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {" + field +
			": {" + specs + "}}\n"
	}
	const again, byCode = "restartPolicy: OnFailure,", "restartPolicy: ExitCode,"
	return map[string]string{
		"jobset": "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: jobset}\n" +
			"spec: {replicatedJobs: [{name: workers, replicas: 1, template: {spec: {parallelism: 2, completions: 2, " +
			"template: {" + job + "}}}}]}\n",
		"groups": "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: groups}\n" +
			"spec: {replicas: 1, leaderWorkerTemplate: {size: 2, workerTemplate: {" + server + "}}}\n",
		"ray": "apiVersion: ray.io/v1\nkind: RayCluster\n" +
			"metadata: {name: ray, annotations: {ray.io/overwrite-container-cmd: \"true\"}}\n" +
			"spec: {headGroupSpec: {rayStartParams: {}, template: {" + ray(server) + "}}, workerGroupSpecs: " +
			"[{groupName: workers, replicas: 1, minReplicas: 1, maxReplicas: 4, rayStartParams: {}, template: {" +
			ray(server) + "}}]}\n",
		"pytorch": training("pytorch", "PyTorchJob", "pytorchReplicaSpecs", "pytorch", again, "Worker"),
		"tf":      training("tf", "TFJob", "tfReplicaSpecs", "tensorflow", again, "Chief", "Worker"),
		"xgboost": training("xgboost", "XGBoostJob", "xgbReplicaSpecs", "xgboost", byCode, "Master", "Worker"),
	}
}

// ray returns a pod of a Ray node with probes, since those of KubeRay call Ray.
func ray(pod string) string {
	const probe = `{httpGet: {path: /health, port: 8080}}`
	return strings.Replace(pod, "args:", "command: ["+program+"], readinessProbe: "+probe+", livenessProbe: "+probe+
		", args:", 1)
}

// controlled is a state with a compute for each of workloadsOfControllers.
type controlled struct {
	cli       *acctest.CLI
	namespace string
	config    string   // without actions
	computes  []string // their names
}

// TestE2EActionsRunInWorkloadsOfControllers runs actions on real pods of the kinds whose controllers are in ecosystem/:
// of adopted workloads, and of computes that the provider creates from the same manifests. All pods are on one of the
// two real nodes until they are evacuated to the other, for which no other test may run.
func TestE2EActionsRunInWorkloadsOfControllers(t *testing.T) {
	t.Parallel()
	if os.Getenv("KT_ECOSYSTEM") == "" {
		t.Skip("KT_ECOSYSTEM is not set")
	}
	acctest.RequireTerraform(t, "1.14")
	adopted, created := newControlled(t), newControlled(t)
	// each returns after the phase of both has ended, because they share the nodes.
	each := func(phase string, do func(c *controlled, t *testing.T)) {
		t.Run(phase, func(t *testing.T) {
			for name, c := range map[string]*controlled{"adopted": adopted, "created": created} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					do(c, t)
				})
			}
		})
		if t.Failed() {
			t.FailNow()
		}
	}
	cluster.Kubectl(t, "cordon", otherNode)
	each("run", func(c *controlled, t *testing.T) {
		if c == adopted {
			c.adopt(t)
		} else {
			c.create()
		}
		c.config += "variable \"replicas\" { default = 1 }\n" // of kt_scale
		expectActions(t, c.cli, c.config, c.computes, podsOfEach)
		c.expectOperations(t)
	})
	each("scale", (*controlled).expectScaling)
	each("evacuate without a place", (*controlled).expectPendingEvacuation)
	cluster.Kubectl(t, "uncordon", otherNode)
	each("evacuate", (*controlled).expectEvacuation)
}

func newControlled(t *testing.T) *controlled {
	t.Helper()
	c := &controlled{computes: slices.Sorted(maps.Keys(workloadsOfControllers("")))}
	c.cli, c.namespace = terraform(t)
	createToken(t, c.namespace)
	return c
}

func (c *controlled) adopt(t *testing.T) {
	t.Helper()
	c.config = adopted(t, c.cli, c.namespace, workloadsOfControllers("main"), func() {
		acctest.WaitUntil(t, "each workload has its pods", func() bool {
			return len(c.pods(t, "")) == podsOfEach*len(c.computes)
		})
		cluster.Kubectl(t, "wait", "-n", c.namespace, "--for=condition=Ready", "pods", "--all", "--timeout=110s")
	})
}

func (c *controlled) create() {
	c.config = "provider \"kt\" {}\n"
	for name, text := range workloadsOfControllers("kubetorch") {
		c.config += fmt.Sprintf("resource \"kt_compute\" %[1]q {\n  name = %[1]q\n  manifest = <<-EOT\n%[2]sEOT\n}\n",
			name, text)
	}
}

// use writes the configuration with an action of each kind on each compute, which has these attributes.
func (c *controlled) use(t *testing.T, actions []string, attributes string) {
	t.Helper()
	config := c.config
	for _, name := range c.computes {
		for _, kind := range actions {
			config += strings.Replace(action(kind, name, attributes), "kt_compute.server", "kt_compute."+name, 1)
		}
	}
	c.cli.Write(t, config)
}

// pods returns the pods of a compute, or of all with "", that are not being deleted.
func (c *controlled) pods(t *testing.T, compute string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	text := cluster.Kubectl(t, "get", "pods", "-n", c.namespace, "-o", "json")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || compute != "" && !strings.HasPrefix(pod.Name, compute+"-")
	})
}

// uids returns the UIDs of pods.
func uids(pods []corev1.Pod) []string {
	var all []string
	for _, pod := range pods {
		all = append(all, string(pod.UID))
	}
	return all
}

// expectOperations suspends and resumes the workloads, and restarts those whose pods do not run to completion. Each
// action waits until the controller is done. Plans show a suspension, and nothing after the others.
func (c *controlled) expectOperations(t *testing.T) {
	t.Helper()
	c.use(t, []string{"kt_suspend", "kt_resume", "kt_restart"}, "")
	invokeEach := func(action string) {
		t.Helper()
		for _, name := range c.computes {
			if out, err := invoke(t, c.cli, action+"."+name); err != nil {
				t.Errorf("%s of %s: %v\n%s", action, name, err, out)
			}
		}
	}
	invokeEach("kt_suspend")
	if left := pods(t, c.namespace, "--field-selector=status.phase=Running"); left != "" {
		t.Errorf("pods run after the suspension: %s", left)
	}
	c.expectUpdates(t, "the suspension", c.computes)
	invokeEach("kt_resume")
	running := uids(c.pods(t, ""))
	if len(running) != podsOfEach*len(c.computes) {
		t.Errorf("%d pods after the resumption", len(running))
	}
	c.cli.MustRun(t, "plan", "-detailed-exitcode")
	for _, name := range c.computes {
		out, err := invoke(t, c.cli, "kt_restart."+name)
		refused := strings.Contains(unwrapped(out), "does not support this operation. Its pods run to completion")
		if runs := name == "groups" || name == "ray"; (err == nil) != runs || refused == runs {
			t.Errorf("kt_restart of %s: %v\n%s", name, err, out)
		}
	}
	now := uids(c.pods(t, ""))
	left := slices.DeleteFunc(running, func(uid string) bool { return !slices.Contains(now, uid) })
	if len(left) != podsOfEach*(len(c.computes)-2) {
		t.Errorf("%d of %d pods were not restarted", len(left), podsOfEach*len(c.computes))
	}
	c.cli.MustRun(t, "plan", "-detailed-exitcode")
}

// expectUpdates expects that the plan updates these computes and no others.
func (c *controlled) expectUpdates(t *testing.T, what string, updated []string) {
	t.Helper()
	out := c.cli.MustRun(t, "plan")
	for _, name := range c.computes {
		shown := strings.Contains(out, "# kt_compute."+name+" will be updated in-place")
		if want := slices.Contains(updated, name); shown != want {
			t.Errorf("after %s, %s is updated: %t\n%s", what, name, shown, out)
		}
	}
}
