package ecosystem_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// roles is a training job of the user's with a primary and workers.
func roles(kind, specs, primary, container string, workers int) string {
	return acctest.Manifest(fmt.Sprintf(`
apiVersion: kubeflow.org/v1
kind: %s
spec:
  %s:
    %s: {replicas: 1, template: {spec: {containers: [{name: %[4]s, image: "mine:1"}]}}}
    Worker: {replicas: %d, template: {spec: {containers: [{name: %[4]s, image: "mine:1"}]}}}`, kind,
		specs, primary, container, workers))
}

// workersRun gives the workers of roles another image.
func workersRun(image, job string) string {
	primary, workers, _ := strings.Cut(job, "Worker:")
	return primary + "Worker:" + strings.Replace(workers, "mine:1", image, 1)
}

func jobSet(parallelism int, more string) string {
	return acctest.Manifest(fmt.Sprintf(`
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
spec:
  %s
  replicatedJobs:
  - name: workers
    template:
      spec:
        parallelism: %[2]d
        completions: %[2]d
        template: {spec: {containers: [{name: kubetorch, image: "mine:1", command: [python, train.py]}]}}`,
		more, parallelism))
}

// rayOf is a RayCluster of the user's with a number of workers.
func rayOf(workers int) string {
	return acctest.Manifest(fmt.Sprintf(`
apiVersion: ray.io/v1
kind: RayCluster
spec:
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: kubetorch, image: "rayproject/ray:2.41.0"}]}}
  workerGroupSpecs:
  - groupName: small
    replicas: %d
    minReplicas: 0
    maxReplicas: 5
    rayStartParams: {}
    template: {spec: {containers: [{name: kubetorch, image: "rayproject/ray:2.41.0"}]}}`, workers))
}

func rayJob(entrypoint string) string {
	return acctest.Manifest(fmt.Sprintf(`
apiVersion: ray.io/v1
kind: RayJob
spec:
  entrypoint: %s
  rayClusterSpec:
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: kubetorch, image: "rayproject/ray:2.41.0"}]}}`, entrypoint))
}

// groups is a LeaderWorkerSet of the user's: groups of a leader and workers.
func groups(spec string) string {
	return acctest.Manifest(`
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
spec: ` + spec)
}

func TestEcoLifeCycleOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, w := range []acctest.LifeCycle{
		{
			Name: "ray", Mode: "raycluster",
			Created: `distribute = { type = "ray", workers = 3 }`,
			Changed: "distribute = { type = \"ray\", workers = 4, args = jsonencode({ rayVersion = \"2.41.0\" }) }\n" +
				" gpus = 1",
			Kubectl: []string{"patch", "raycluster/trainer", "--type=merge", "-p", `{"spec": {"rayVersion": "2.0.0"}}`},
			Drifts:  []string{"distribute"},
		},
		{
			Name: "ray of the user's", Mode: "raycluster",
			Created: rayOf(1),
			Changed: rayOf(2),
			Kubectl: []string{"label", "raycluster/trainer", "--overwrite", "app=other"}, Drifts: []string{"labels"},
			Hidden: []string{"distribute", "manifest"},
		},
		{
			Name: "ray job", Mode: "rayjob",
			Created:  rayJob("python train.py"),
			Changed:  rayJob("python train.py --epochs 2"),
			Kubectl:  []string{"label", "rayjob/trainer", "--overwrite", "app=other"},
			Drifts:   []string{"labels"},
			Replaces: true, // KubeRay disregards the change
		},
		{
			Name: "pytorch", Mode: "pytorchjob",
			Created: roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 2),
			Changed: roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 3),
			Kubectl: []string{"patch", "pytorchjob/trainer", "--type=merge", "-p",
				`{"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 4}}}}`}, Drifts: []string{"replicas"},
		},
		{
			Name: "tensorflow", Mode: "tfjob",
			Created: roles("TFJob", "tfReplicaSpecs", "Chief", "tensorflow", 1),
			Changed: roles("TFJob", "tfReplicaSpecs", "Chief", "tensorflow", 2),
			Kubectl: []string{"label", "tfjob/trainer", "--overwrite", "app=other"}, Drifts: []string{"labels"},
		},
		{
			Name: "xgboost", Mode: "xgboostjob",
			Created: roles("XGBoostJob", "xgbReplicaSpecs", "Master", "xgboost", 1),
			Changed: roles("XGBoostJob", "xgbReplicaSpecs", "Master", "xgboost", 2),
			Kubectl: []string{"label", "xgboostjob/trainer", "--overwrite", "app=other"}, Drifts: []string{"labels"},
		},
		{
			Name: "job set", Mode: "jobset",
			Created: jobSet(2, "suspend: false"),
			Changed: jobSet(2, "suspend: false") + `labels = { team = "ml" }`,
			Kubectl: []string{"label", "jobset/trainer", "--overwrite", "app=other"}, Drifts: []string{"labels"},
			Replaces: true, // its templates never change
			Hidden:   []string{"launch_timeout"},
		},
		{
			Name: "job set of distributed workers", Mode: "jobset",
			Created:  jobSet(2, "suspend: false") + "distribute = { workers = 2 }",
			Changed:  jobSet(2, "suspend: false") + "distribute = { workers = 2 }\n labels = { team = \"ml\" }",
			Kubectl:  []string{"label", "jobset/trainer", "--overwrite", "app=other"},
			Drifts:   []string{"labels"},
			Replaces: true,
			Hidden:   []string{"distribute", "launch_timeout"},
		},
		{
			Name: "groups of workers", Mode: "leaderworkerset",
			Created: groups("{replicas: 2}") + "distribute = { workers = 4 }",
			Changed: groups("{replicas: 2}") + "distribute = { workers = 6 }\n gpus = 1",
			Kubectl: []string{
				"patch", "leaderworkerset/trainer", "--type=merge", "-p",
				`{"spec": {"leaderWorkerTemplate": {"size": 4}}}`,
			},
			Drifts: []string{"replicas"},
			Hidden: []string{"distribute"},
		},
		{
			Name: "groups with separate leaders", Mode: "leaderworkerset",
			Created: groups("{leaderWorkerTemplate: {size: 3, leaderTemplate: {metadata: {annotations: {role: " +
				"leader}}}}}"),
			Changed: groups("{leaderWorkerTemplate: {size: 2, leaderTemplate: {metadata: {annotations: {role: " +
				"leader}}}}}"),
			Kubectl: []string{"label", "leaderworkerset/trainer", "--overwrite", "app=other"},
			Drifts:  []string{"labels"},
		},
	} {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			w.Run(t, cluster, cluster.Namespace(t))
		})
	}
}

// queued is a compute of six GPUs in a queue.
type queued struct {
	name       string
	attributes string
	object     string // object that Kueue suspends and resumes; empty if it gates pods
	suspension string
	ends       bool // its pods complete immediately, so that Kueue does not resume it a second time
}

func inQueues() []queued {
	return []queued{
		{name: "deployment", attributes: "gpus = 1\n replicas = 6"},
		{
			name: "job",
			attributes: acctest.Manifest("apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 6, completions: 6, "+
				"template: {spec: {containers: [{name: kubetorch, command: [python, train.py]}]}}}") + "gpus = 1",
			object: "job/trainer", suspension: "{.spec.suspend}", ends: true,
		},
		{name: "pytorch", attributes: roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 5) + "gpus = 1",
			object: "pytorchjob/trainer", suspension: "{.spec.runPolicy.suspend}"},
		{name: "ray", attributes: "distribute = { type = \"ray\", workers = 6 }\n gpus = 1",
			object: "raycluster/trainer", suspension: "{.spec.suspend}"},
		{name: "groups of workers", attributes: groups("{leaderWorkerTemplate: {size: 6}}") + "gpus = 1"},
		{name: "job set", attributes: jobSet(6, "network: {enableDNSHostnames: true}") + "gpus = 1",
			object: "jobset/trainer", suspension: "{.spec.suspend}", ends: true},
	}
}

// Six GPUs do not fit into a quota of four. Once they do, Kueue starts the
// compute, and nothing that it changed shows in a plan.
func TestEcoQueueAdmitsComputesWithoutDrift(t *testing.T) {
	t.Parallel()
	for _, q := range inQueues() {
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			queue := cluster.Queue(t, ns, 4)
			config := func(more string) string {
				return cluster.Config(ns,
					fmt.Sprintf("resource \"kt_compute\" \"trainer\" {\n name = \"trainer\"\n queue_name = %q\n "+
						"%s\n %s\n}", queue, q.attributes, more))
			}
			is := func(ready, suspended string) resource.TestCheckFunc {
				return resource.ComposeAggregateTestCheckFunc(resource.TestCheckResourceAttr(acctest.Trainer, "ready",
					ready), func(*terraform.State) error {
					if q.object == "" {
						return nil
					}
					if got := cluster.Kubectl(t, "get", q.object, "-n", ns, "-o",
						"jsonpath="+q.suspension); got != suspended {
						return fmt.Errorf("%s of %s is %q, want %q", q.suspension, q.object, got, suspended)
					}
					return nil
				})
			}
			seen, uid := &acctest.Warnings{}, ""
			warned := func(*terraform.State) error {
				warning := regexp.MustCompile(
					`(?s)is not ready: queued.*nvidia\.com/gpu.*kubectl.*The next apply waits ` +
						`for it again`)
				if text := seen.Text(); !warning.MatchString(text) {
					return fmt.Errorf("no warning matches %s: %s", warning, text)
				}
				return nil
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
				Steps: []resource.TestStep{
					{
						Config:             config(waits("30s")),
						ExpectNonEmptyPlan: true, // the apply waits again
						Check: resource.ComposeAggregateTestCheckFunc(
							is("false", "true"),
							resource.TestCheckResourceAttrWith(acctest.Trainer, "uid", unchanged(&uid)), warned),
					},
					{ // a compute that was not admitted in time stays in the queue
						PreConfig: func() { cluster.SetQuota(t, ns, 6) },
						Config:    config(waits("2m")),
						ConfigPlanChecks: acctest.PreApply(
							plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionUpdate),
						),
						Check: resource.ComposeAggregateTestCheckFunc(
							is("true", "false"),
							resource.TestCheckResourceAttrWith(acctest.Trainer, "uid", unchanged(&uid))),
					},
					{Config: config(waits("2m") + "\n suspend = true"), Check: is("false", "true")},
					{Config: config(waits("2m")),
						Check: is("true", map[bool]string{true: "true", false: "false"}[q.ends])},
					{
						RefreshState: true,
						RefreshPlanChecks: resource.RefreshPlanChecks{
							PostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
					},
				},
			})
			if err := cluster.NoneLeft(t, ns); err != nil {
				t.Error(err)
			}
		})
	}
}

// waits limits how long an apply waits, without a change of the pods.
func waits(limit string) string {
	return fmt.Sprintf("timeouts = { create = %[1]q, update = %[1]q }", limit)
}

// unchanged checks that an attribute has the value that it had before, if there was one.
func unchanged(value *string) func(string) error {
	return func(now string) error {
		if *value != "" && now != *value {
			return fmt.Errorf("it was %s and is now %s", *value, now)
		}
		*value = now
		return nil
	}
}

// The plan warns about a compute that its queue cannot admit, before any object exists.
func TestEcoPlanWarnsOfTheQueue(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Queue(t, ns, 4)
	for name, c := range map[string]struct{ attributes, warning string }{
		"a missing queue": {`queue_name = "nowhere"`, `(?s)nowhere.*team`},
		"too small":       {"queue_name = \"team\"\n gpus = 1\n replicas = 6", `(?s)6 nvidia.com/gpu.*4`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := acctest.NewAttachedCLI(t)
			cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
			cli.Setenv("KT_NAMESPACE", ns)
			cli.Write(t, acctest.BareCompute(c.attributes))
			if out := cli.MustRun(t, "plan"); !regexp.MustCompile(c.warning).MatchString(acctest.Unwrap(out)) {
				t.Errorf("the output of the plan is:\n%s\nwant %s", out, c.warning)
			}
		})
	}
}

// The training operator counts a pod that crashes repeatedly as active.
func TestEcoTrainingJobIsNotReadyWhileItsWorkersCrash(t *testing.T) {
	t.Parallel()
	for kind, job := range map[string]string{
		"PyTorchJob": workersRun("broken.invalid/crash:1",
			roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 2)),
		"TFJob": workersRun("broken.invalid/crash:1", roles("TFJob", "tfReplicaSpecs", "Chief", "tensorflow", 2)),
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Factories(t),
				Steps: []resource.TestStep{
					{
						Config:      cluster.Config(ns, acctest.BareCompute(job)),
						ExpectError: regexp.MustCompile(`(?s)is not ready: crash loop.*trainer-worker`),
					},
					{ // a refresh does not report it as ready either
						Config:             cluster.Config(ns, acctest.BareCompute(job+`on_not_ready = "warn"`)),
						Check:              resource.TestCheckResourceAttr(acctest.Trainer, "ready", "false"),
						ExpectNonEmptyPlan: true,
					},
				},
			})
		})
	}
}

// The status of a RayCluster says ready until KubeRay has deleted its pods.
func TestEcoUpdateWaitsForThePodsThatKubeRayRecreates(t *testing.T) {
	t.Parallel()
	cli, ns := acctest.NewAttachedCLI(t), cluster.Namespace(t)
	cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
	cli.Setenv("KT_NAMESPACE", ns)
	apply := func(more string) []string {
		cli.Write(t, acctest.BareCompute("distribute = { type = \"ray\", workers = 2 }\n service_template = "+
			"jsonencode({ spec = { upgradeStrategy = { type = \"Recreate\" } } })\n"+more))
		cli.MustRun(t, "apply", "-auto-approve")
		return strings.Fields(cluster.Kubectl(t, "get", "pods", "-n", ns, "-o", "go-template={{range .items}}"+
			"{{if not .metadata.deletionTimestamp}}{{.metadata.uid}} {{end}}{{end}}"))
	}
	before, after := apply(""), apply("cpus = 1")
	if len(before) != 2 || len(after) != 2 || slices.ContainsFunc(after, func(uid string) bool {
		return slices.Contains(before, uid)
	}) {
		t.Errorf("the pods are %v, and were %v", after, before)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

// The controllers of these kinds use a changed template only for new pods, and fail some jobs with fewer pods.
func TestEcoPlanWarnsOfPodsThatAreNotUpdated(t *testing.T) {
	t.Parallel()
	const kept, fails = "Running pods are not updated", "The update fails the TFJob"
	for name, c := range map[string]struct {
		created, changed string
		warning          string
	}{
		"ray": {`distribute = { type = "ray", workers = 2 }`,
			"distribute = { type = \"ray\", workers = 2 }\n cpus = 1", kept},
		"more workers": {`distribute = { type = "ray", workers = 2 }`,
			`distribute = { type = "ray", workers = 3 }`, ""},
		"ray that is suspended": {"distribute = { type = \"ray\", workers = 2 }\n suspend = true",
			"distribute = { type = \"ray\", workers = 2 }\n cpus = 1", ""},
		"ray with the upgrade strategy Recreate": {
			"distribute = { type = \"ray\", workers = 2 }\n service_template = jsonencode({ spec = { " +
				"upgradeStrategy = { type = \"Recreate\" } } })",
			"distribute = { type = \"ray\", workers = 2 }\n service_template = jsonencode({ spec = { " +
				"upgradeStrategy = { type = \"Recreate\" } } })\n cpus = 1", "",
		},
		"a training job": {roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 2),
			roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 2) + "cpus = 1", kept},
		"fewer workers of a TFJob": {roles("TFJob", "tfReplicaSpecs", "Chief", "tensorflow", 2),
			roles("TFJob", "tfReplicaSpecs", "Chief", "tensorflow", 1), fails},
		"fewer workers of a PyTorchJob": {roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 2),
			roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 1), ""},
		"a ReplicaSet": {acctest.Manifest("apiVersion: apps/v1\nkind: ReplicaSet"),
			acctest.Manifest("apiVersion: apps/v1\nkind: ReplicaSet") + "cpus = 1", kept},
		"a Deployment": {"", "cpus = 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := acctest.NewAttachedCLI(t)
			cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
			cli.Setenv("KT_NAMESPACE", cluster.Namespace(t))
			cli.Write(t, acctest.BareCompute(c.created))
			cli.MustRun(t, "apply", "-auto-approve")
			cli.Write(t, acctest.BareCompute(c.changed))
			out := cli.MustRun(t, "plan")
			for _, warning := range []string{kept, fails} {
				if strings.Contains(out, warning) != (warning == c.warning) {
					t.Errorf("want the warning %q, the plan is:\n%s", c.warning, out)
				}
			}
			if strings.Contains(out, "must be replaced") {
				t.Errorf("the plan is:\n%s", out)
			}
			cli.MustRun(t, "destroy", "-auto-approve")
		})
	}
}
