package acctest_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// ecosystem is the cluster with the real controllers: `make test-ecosystem`.
// Only the tests that ask for it start it.
var ecosystem lazyEcosystem

type lazyEcosystem struct {
	once  sync.Once
	found *acctest.Ecosystem
	err   error
}

func withControllers(t *testing.T) *acctest.Ecosystem {
	t.Helper()
	if os.Getenv("KT_ECOSYSTEM") == "" {
		t.Skip("KT_ECOSYSTEM is not set")
	}
	ecosystem.once.Do(func() { ecosystem.found, ecosystem.err = acctest.StartEcosystem() })
	if ecosystem.err != nil {
		t.Fatal(ecosystem.err)
	}
	return ecosystem.found
}

func (l *lazyEcosystem) stop() error {
	if l.found == nil {
		return nil
	}
	return l.found.Stop()
}

// roles is a training job of the user's with a primary and workers.
func roles(kind, specs, primary, container string, workers int) string {
	return byo(fmt.Sprintf(`
apiVersion: kubeflow.org/v1
kind: %s
spec:
  %s:
    %s: {replicas: 1, template: {spec: {containers: [{name: %[4]s, image: "mine:1"}]}}}
    Worker: {replicas: %d, template: {spec: {containers: [{name: %[4]s, image: "mine:1"}]}}}`, kind, specs, primary, container, workers))
}

// workersRun gives the workers of roles another image.
func workersRun(image, job string) string {
	primary, workers, _ := strings.Cut(job, "Worker:")
	return primary + "Worker:" + strings.Replace(workers, "mine:1", image, 1)
}

func jobSet(parallelism int, more string) string {
	return byo(fmt.Sprintf(`
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
        template: {spec: {containers: [{name: kubetorch, image: "mine:1", command: [python, train.py]}]}}`, more, parallelism))
}

// groups is a LeaderWorkerSet of the user's: groups of a leader and workers.
func groups(spec string) string {
	return byo(`
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
spec: ` + spec)
}

func TestEcoEveryKindLivesItsWholeLifeBesideItsController(t *testing.T) {
	t.Parallel()
	for _, w := range []way{
		{
			name: "ray", mode: "raycluster",
			created: `distribute = { type = "ray", workers = 3 }`,
			changed: "distribute = { type = \"ray\", workers = 4, args = jsonencode({ rayVersion = \"2.41.0\" }) }\n gpus = 1",
			kubectl: []string{"patch", "raycluster/trainer", "--type=merge", "-p", `{"spec": {"rayVersion": "2.0.0"}}`}, drifts: []string{"distribute"},
		},
		{
			name: "ray of the user's", mode: "raycluster",
			created: byo(`
apiVersion: ray.io/v1
kind: RayCluster
spec:
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: kubetorch, image: "rayproject/ray:2.41.0"}]}}}
  workerGroupSpecs:
  - {groupName: small, replicas: 1, minReplicas: 0, maxReplicas: 5, rayStartParams: {}, template: {spec: {containers: [{name: kubetorch, image: "rayproject/ray:2.41.0"}]}}}`),
			changed: byo(`
apiVersion: ray.io/v1
kind: RayCluster
spec:
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: kubetorch, image: "rayproject/ray:2.41.0"}]}}}
  workerGroupSpecs:
  - {groupName: small, replicas: 2, minReplicas: 0, maxReplicas: 5, rayStartParams: {}, template: {spec: {containers: [{name: kubetorch, image: "rayproject/ray:2.41.0"}]}}}`),
			kubectl: []string{"label", "raycluster/trainer", "--overwrite", "app=other"}, drifts: []string{"labels"},
			hidden: []string{"distribute", "manifest"},
		},
		{
			name: "pytorch", mode: "pytorchjob",
			created: roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 2),
			changed: roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 3),
			kubectl: []string{"patch", "pytorchjob/trainer", "--type=merge", "-p", `{"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 4}}}}`}, drifts: []string{"replicas"},
		},
		{
			name: "tensorflow", mode: "tfjob",
			created: roles("TFJob", "tfReplicaSpecs", "Chief", "tensorflow", 1),
			changed: roles("TFJob", "tfReplicaSpecs", "Chief", "tensorflow", 2),
			kubectl: []string{"label", "tfjob/trainer", "--overwrite", "app=other"}, drifts: []string{"labels"},
		},
		{
			name: "xgboost", mode: "xgboostjob",
			created: roles("XGBoostJob", "xgbReplicaSpecs", "Master", "xgboost", 1),
			changed: roles("XGBoostJob", "xgbReplicaSpecs", "Master", "xgboost", 2),
			kubectl: []string{"label", "xgboostjob/trainer", "--overwrite", "app=other"}, drifts: []string{"labels"},
		},
		{
			name: "job set", mode: "jobset",
			created: jobSet(2, "suspend: false"),
			changed: jobSet(2, "suspend: false") + `labels = { team = "ml" }`,
			kubectl: []string{"label", "jobset/trainer", "--overwrite", "app=other"}, drifts: []string{"labels"},
			replaces: true, // its templates never change
			hidden:   []string{"launch_timeout"},
		},
		{
			name: "groups of workers", mode: "leaderworkerset",
			created: groups("{replicas: 2}") + "distribute = { workers = 4 }",
			changed: groups("{replicas: 2}") + "distribute = { workers = 6 }\n gpus = 1",
			kubectl: []string{
				"patch", "leaderworkerset/trainer", "--type=merge", "-p", `{"spec": {"leaderWorkerTemplate": {"size": 4}}}`,
			},
			drifts: []string{"replicas"},
			hidden: []string{"distribute"},
		},
		{
			name: "groups with leaders of their own", mode: "leaderworkerset",
			created: groups("{leaderWorkerTemplate: {size: 3, leaderTemplate: {metadata: {annotations: {role: leader}}}}}"),
			changed: groups("{leaderWorkerTemplate: {size: 2, leaderTemplate: {metadata: {annotations: {role: leader}}}}}"),
			kubectl: []string{"label", "leaderworkerset/trainer", "--overwrite", "app=other"}, drifts: []string{"labels"},
		},
	} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			e := withControllers(t)
			live(t, e.Cluster, e.Namespace(t), w)
		})
	}
}

// queued is a compute of six GPUs in a queue.
type queued struct {
	name       string
	attributes string
	object     string // whose suspension Kueue takes back; none where it gates pods
	suspension string
	ends       bool // its pods do their work at once, after which nothing is released again
}

func inQueues() []queued {
	return []queued{
		{name: "deployment", attributes: "gpus = 1\n replicas = 6"},
		{
			name:       "job",
			attributes: byo("apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 6, completions: 6, template: {spec: {containers: [{name: kubetorch, command: [python, train.py]}]}}}") + "gpus = 1",
			object:     "job/trainer", suspension: "{.spec.suspend}", ends: true,
		},
		{name: "pytorch", attributes: roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 5) + "gpus = 1", object: "pytorchjob/trainer", suspension: "{.spec.runPolicy.suspend}"},
		{name: "ray", attributes: "distribute = { type = \"ray\", workers = 6 }\n gpus = 1", object: "raycluster/trainer", suspension: "{.spec.suspend}"},
		{name: "groups of workers", attributes: groups("{leaderWorkerTemplate: {size: 6}}") + "gpus = 1"},
		{name: "job set", attributes: jobSet(6, "network: {enableDNSHostnames: true}") + "gpus = 1", object: "jobset/trainer", suspension: "{.spec.suspend}", ends: true},
	}
}

// Six GPUs do not fit into a quota of four. Once they do, Kueue starts the
// compute, and nothing that it changed shows in a plan.
func TestEcoQueueAdmitsComputesWithoutDrift(t *testing.T) {
	t.Parallel()
	for _, q := range inQueues() {
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			e := withControllers(t)
			ns := e.Namespace(t)
			queue := e.Queue(t, ns, 4)
			config := func(more string) string {
				return e.Config(ns, fmt.Sprintf("resource \"kt_compute\" \"trainer\" {\n name = \"trainer\"\n queue_name = %q\n %s\n %s\n}", queue, q.attributes, more))
			}
			is := func(ready, suspended string) resource.TestCheckFunc {
				return resource.ComposeAggregateTestCheckFunc(resource.TestCheckResourceAttr(trainer, "ready", ready), func(*terraform.State) error {
					if q.object == "" {
						return nil
					}
					if got := e.Kubectl(t, "get", q.object, "-n", ns, "-o", "jsonpath="+q.suspension); got != suspended {
						return fmt.Errorf("%s of %s is %q, want %q", q.suspension, q.object, got, suspended)
					}
					return nil
				})
			}
			seen, uid := &witness{}, ""
			warned := func(*terraform.State) error {
				says := regexp.MustCompile(`(?s)is not ready: queued.*nvidia\.com/gpu.*kubectl.*The next plan waits for it again`)
				if text := seen.text(); !says.MatchString(text) {
					return fmt.Errorf("no warning says %s: %s", says, text)
				}
				return nil
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: seen.watch(acctest.Factories(t)),
				Steps: []resource.TestStep{
					{
						Config:             config(waits("20s")),
						ExpectNonEmptyPlan: true, // it waits again
						Check: resource.ComposeAggregateTestCheckFunc(
							is("false", "true"), resource.TestCheckResourceAttrWith(trainer, "uid", keeps(&uid)), warned),
					},
					{ // what Kueue has not admitted in time keeps its place
						PreConfig: func() { e.SetQuota(t, ns, 6) },
						Config:    config(waits("2m")),
						ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
							plancheck.ExpectResourceAction(trainer, plancheck.ResourceActionUpdate),
						}},
						Check: resource.ComposeAggregateTestCheckFunc(
							is("true", "false"), resource.TestCheckResourceAttrWith(trainer, "uid", keeps(&uid))),
					},
					{Config: config(waits("2m") + "\n suspend = true"), Check: is("false", "true")},
					{Config: config(waits("2m")), Check: is("true", map[bool]string{true: "true", false: "false"}[q.ends])},
					{
						RefreshState:      true,
						RefreshPlanChecks: resource.RefreshPlanChecks{PostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
					},
				},
			})
			if err := noneLeft(t, e.Cluster, ns); err != nil {
				t.Error(err)
			}
		})
	}
}

// waits limits how long an apply waits, without a change of the pods.
func waits(limit string) string {
	return fmt.Sprintf("timeouts = { create = %[1]q, update = %[1]q }", limit)
}

// keeps checks that an attribute has the value that it had before, if there was one.
func keeps(value *string) func(string) error {
	return func(now string) error {
		if *value != "" && now != *value {
			return fmt.Errorf("it was %s, and is %s", *value, now)
		}
		*value = now
		return nil
	}
}

// What a queue will not admit is said by the plan, before anything exists.
func TestEcoPlanWarnsOfTheQueue(t *testing.T) {
	t.Parallel()
	e := withControllers(t)
	ns := e.Namespace(t)
	e.Queue(t, ns, 4)
	for name, c := range map[string]struct{ attributes, says string }{
		"a missing queue": {`queue_name = "nowhere"`, `(?s)nowhere.*team`},
		"too small":       {"queue_name = \"team\"\n gpus = 1\n replicas = 6", `(?s)6 nvidia.com/gpu.*4`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := acctest.NewCLI(t)
			cli.Setenv("KUBE_CONFIG_PATH", e.Kubeconfig)
			cli.Setenv("KT_NAMESPACE", ns)
			cli.Write(t, bare(c.attributes))
			if out := cli.MustRun(t, "plan"); !regexp.MustCompile(c.says).MatchString(unwrapped(out)) {
				t.Errorf("the plan says:\n%s\nwant %s", out, c.says)
			}
		})
	}
}

// The training operator counts a pod that crashes repeatedly as active.
func TestEcoTrainingJobIsNotReadyWhileItsWorkersCrash(t *testing.T) {
	t.Parallel()
	e := withControllers(t)
	for kind, job := range map[string]string{
		"PyTorchJob": workersRun("broken.invalid/crash:1", roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 2)),
		"TFJob":      workersRun("broken.invalid/crash:1", roles("TFJob", "tfReplicaSpecs", "Chief", "tensorflow", 2)),
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ns := e.Namespace(t)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Factories(t),
				Steps: []resource.TestStep{
					{
						Config:      e.Config(ns, bare(job)),
						ExpectError: regexp.MustCompile(`(?s)is not ready: crash loop.*trainer-worker`),
					},
					{ // a refresh does not take it for ready either
						Config:             e.Config(ns, bare(job+`on_not_ready = "warn"`)),
						Check:              resource.TestCheckResourceAttr(trainer, "ready", "false"),
						ExpectNonEmptyPlan: true,
					},
				},
			})
		})
	}
}

// Who runs these kinds makes only new pods from a changed template.
func TestEcoPlanWarnsOfPodsThatStayAsTheyAre(t *testing.T) {
	t.Parallel()
	e := withControllers(t)
	const warning = "The pods that run stay as they are"
	for name, c := range map[string]struct {
		created, changed string
		warns            bool
	}{
		"ray":                   {`distribute = { type = "ray", workers = 2 }`, "distribute = { type = \"ray\", workers = 2 }\n cpus = 1", true},
		"more workers":          {`distribute = { type = "ray", workers = 2 }`, `distribute = { type = "ray", workers = 3 }`, false},
		"ray that is suspended": {"distribute = { type = \"ray\", workers = 2 }\n suspend = true", "distribute = { type = \"ray\", workers = 2 }\n cpus = 1", false},
		"ray that is told to": {
			"distribute = { type = \"ray\", workers = 2 }\n service_template = jsonencode({ spec = { upgradeStrategy = { type = \"Recreate\" } } })",
			"distribute = { type = \"ray\", workers = 2 }\n service_template = jsonencode({ spec = { upgradeStrategy = { type = \"Recreate\" } } })\n cpus = 1", false,
		},
		"a training job": {roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 2), roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 2) + "cpus = 1", true},
		"a ReplicaSet":   {byo("apiVersion: apps/v1\nkind: ReplicaSet"), byo("apiVersion: apps/v1\nkind: ReplicaSet") + "cpus = 1", true},
		"a Deployment":   {"", "cpus = 1", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := acctest.NewCLI(t)
			cli.Setenv("KUBE_CONFIG_PATH", e.Kubeconfig)
			cli.Setenv("KT_NAMESPACE", e.Namespace(t))
			cli.Write(t, bare(c.created))
			cli.MustRun(t, "apply", "-auto-approve")
			cli.Write(t, bare(c.changed))
			if out := cli.MustRun(t, "plan"); strings.Contains(out, warning) != c.warns || strings.Contains(out, "must be replaced") {
				t.Errorf("want a warning %t, the plan says:\n%s", c.warns, out)
			}
			cli.MustRun(t, "destroy", "-auto-approve")
		})
	}
}
