package acctest_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// A way is one way to run a compute, through its whole life.
type way struct {
	name    string
	mode    string
	objects string // what must be there before, with NS for the namespace

	created, changed string // attributes
	replaces         bool   // the change cannot be made in place

	// kubectl is what somebody does to it, after which the plan shows these
	// attributes besides manifests.
	kubectl []string
	drifts  []string

	unstoppable bool     // it cannot be suspended
	hidden      []string // attributes that an import does not find
}

// byo is the attribute manifest, from YAML.
func byo(yaml string) string {
	return "manifest = <<-EOT\n" + strings.TrimSpace(yaml) + "\nEOT\n"
}

// bare is a compute with nothing but these attributes.
func bare(attributes string) string {
	return fmt.Sprintf("resource \"kt_compute\" \"trainer\" {\n name = \"trainer\"\n launch_timeout = \"2m\"\n %s\n}", attributes)
}

func ways() []way {
	return []way{
		{
			name: "distributed", mode: "deployment",
			created: `distribute = { type = "pytorch", workers = 3, quorum_timeout = "5m" }`,
			changed: `distribute = { type = "pytorch", workers = 2, quorum_workers = 1 }`,
			kubectl: []string{"scale", "deployment/trainer", "--replicas=1"}, drifts: []string{"replicas"},
			hidden: []string{"distribute"},
		},
		{
			name: "deployment", mode: "deployment",
			created: byo(`
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 2
  minReadySeconds: 1
  template:
    metadata: {labels: {tier: web}}
    spec:
      containers:
      - {name: kubetorch, image: "mine:1", env: [{name: MODE, value: fast}]}
      - {name: sidecar, image: "sidecar:1"}`) + `cpus = "100m"`,
			changed: byo(`
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 3
  template: {spec: {containers: [{name: kubetorch, image: "mine:2"}]}}`),
			kubectl: []string{"set", "image", "deployment/trainer", "kubetorch=other:1"}, drifts: []string{"image"},
			hidden: []string{"manifest"},
		},
		{
			name: "stateful-set", mode: "statefulset",
			created: byo(`
apiVersion: apps/v1
kind: StatefulSet
spec:
  replicas: 2
  volumeClaimTemplates:
  - metadata: {name: scratch}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  template: {spec: {containers: [{name: kubetorch, volumeMounts: [{name: scratch, mountPath: /scratch}]}]}}`),
			changed: byo(`
apiVersion: apps/v1
kind: StatefulSet
spec:
  replicas: 3
  volumeClaimTemplates:
  - metadata: {name: scratch}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  template: {spec: {containers: [{name: kubetorch, volumeMounts: [{name: scratch, mountPath: /scratch}]}]}}`) + `memory = "1Gi"`,
			kubectl: []string{"scale", "statefulset/trainer", "--replicas=1"}, drifts: []string{"replicas"},
		},
		{
			name: "daemon-set", mode: "daemonset",
			created: byo("apiVersion: apps/v1\nkind: DaemonSet") + `node_selector = { "kubernetes.io/hostname" = "cpu-0" }`,
			changed: byo("apiVersion: apps/v1\nkind: DaemonSet") + "node_selector = { \"kubernetes.io/hostname\" = \"cpu-1\" }\n env_vars = { A = \"b\" }",
			kubectl: []string{"set", "env", "daemonset/trainer", "-c", "kubetorch", "KT_LOG_LEVEL=DEBUG"}, drifts: []string{"logging"},
		},
		{
			name: "replica-set", mode: "replicaset",
			created: byo("apiVersion: apps/v1\nkind: ReplicaSet") + `replicas = 2`,
			changed: byo("apiVersion: apps/v1\nkind: ReplicaSet") + `replicas = 3`,
			kubectl: []string{"scale", "replicaset/trainer", "--replicas=1"}, drifts: []string{"replicas"},
		},
		{
			name: "pod", mode: "pod", unstoppable: true,
			created: byo("apiVersion: v1\nkind: Pod") + `image = "one:1"`,
			changed: byo("apiVersion: v1\nkind: Pod") + `image = "two:2"`,
			kubectl: []string{"label", "pod/trainer", "--overwrite", "app=other"}, drifts: []string{"labels"},
		},
		{
			name: "job", mode: "job",
			created: byo(`
apiVersion: batch/v1
kind: Job
spec: {backoffLimit: 1, template: {spec: {containers: [{name: kubetorch, command: [python, train.py]}]}}}`),
			changed: byo(`
apiVersion: batch/v1
kind: Job
spec: {backoffLimit: 2, template: {spec: {containers: [{name: kubetorch, command: [python, train.py]}]}}}`),
			kubectl: []string{"label", "job/trainer", "--overwrite", "app=other"}, drifts: []string{"labels"},
			hidden: []string{"launch_timeout"},
		},
		{
			name: "cron-job", mode: "cronjob",
			created: byo(`
apiVersion: batch/v1
kind: CronJob
spec: {schedule: "0 3 * * *", jobTemplate: {spec: {template: {spec: {containers: [{name: kubetorch, command: [python, train.py]}]}}}}}`),
			changed: byo(`
apiVersion: batch/v1
kind: CronJob
spec: {schedule: "0 4 * * *", jobTemplate: {spec: {template: {spec: {containers: [{name: kubetorch, command: [python, train.py]}]}}}}}`) + `cpus = 1`,
			kubectl: []string{"patch", "cronjob/trainer", "-p", `{"spec": {"schedule": "0 5 * * *"}}`},
			hidden:  []string{"launch_timeout"},
		},
		{
			name: "selector", mode: "selector", unstoppable: true,
			objects: "apiVersion: v1\nkind: Pod\nmetadata: {name: own, labels: {app: mine, tier: web}}\nspec: {containers: [{name: a, image: \"a:1\"}]}",
			created: `selector = { app = "mine" }`,
			changed: `selector = { app = "mine", tier = "web" }`,
			kubectl: []string{"patch", "service/trainer", "-p", `{"spec": {"selector": {"app": "theirs"}}}`}, drifts: []string{"selector"},
			hidden: []string{"launch_timeout"},
		},
	}
}

func TestAccEveryWayToRunAComputeLivesItsWholeLife(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ns := namespace(t)
			if w.objects != "" {
				cluster.Apply(t, w.objects, "-n", ns)
			}
			live(t, cluster, ns, w)
		})
	}
}

// live takes a compute through its life: created, changed behind Terraform's
// back, changed, suspended and resumed, forgotten and imported, destroyed. The
// plan after each step is empty, which terraform-plugin-testing sees to.
func live(t *testing.T, on *acctest.Cluster, ns string, w way) {
	t.Helper()
	change := plancheck.ResourceActionUpdate
	if w.replaces {
		change = plancheck.ResourceActionReplace
	}
	is := resource.ComposeAggregateTestCheckFunc(
		resource.TestCheckResourceAttr(trainer, "mode", w.mode),
		resource.TestCheckResourceAttr(trainer, "ready", "true"),
	)
	steps := []resource.TestStep{
		{Config: on.Config(ns, bare(w.created)), Check: is},
		{
			PreConfig: func() { on.Kubectl(t, append(w.kubectl, "-n", ns)...) },
			Config:    on.Config(ns, bare(w.created)),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(trainer, plancheck.ResourceActionUpdate),
				planCheck(func(p plan) error { return p.changesOnly(w.drifts...) }),
			}},
		},
		{
			Config:           on.Config(ns, bare(w.changed)),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(trainer, change)}},
			Check:            is,
		},
	}
	if !w.unstoppable {
		steps = append(steps,
			resource.TestStep{Config: on.Config(ns, bare(w.changed+"\nsuspend = true")), Check: resource.TestCheckResourceAttr(trainer, "ready", "false")},
			resource.TestStep{Config: on.Config(ns, bare(w.changed)), Check: is},
		)
	}
	steps = append(steps,
		resource.TestStep{Config: on.Config(ns, "removed {\n from = kt_compute.trainer\n lifecycle {\n destroy = false\n }\n}")},
		resource.TestStep{
			Config: on.Config(ns, bare(w.changed)+fmt.Sprintf("\nimport {\n to = kt_compute.trainer\n id = \"%s/trainer\"\n}", ns)),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{planCheck(func(p plan) error {
				if !p.imports {
					return errors.New("it is not imported")
				}
				return shows(w.hidden, nil)(p)
			})}},
			Check: is,
		},
	)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             func(*terraform.State) error { return noneLeft(t, on, ns) },
		Steps:                    steps,
	})
}

// noneLeft checks that nothing that is ours has stayed in a namespace.
func noneLeft(t *testing.T, on *acctest.Cluster, ns string) error {
	t.Helper()
	kinds := "deployments,statefulsets,daemonsets,replicasets,jobs,cronjobs,services,pods"
	if left := on.Kubectl(t, "get", kinds, "-n", ns, "-l", "kubetorch.com/service", "-o", "name"); left != "" {
		return fmt.Errorf("left behind:\n%s", left)
	}
	return nil
}

// A manifest that the server does not take is refused by the plan, with the
// field that is wrong.
func TestAccManifestThatTheServerRefusesNamesTheField(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	for name, c := range map[string]struct{ manifest, says string }{
		"an unknown field": {"apiVersion: apps/v1\nkind: Deployment\nspec: {replicaz: 2}", `(?s)Deployment \S+/trainer is not valid.*\.spec\.replicaz: field\s+not\s+declared.*manifest`},
		"another type":     {"apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: \"2\"}", `(?s)Deployment \S+/trainer is not valid.*\.spec\.replicas: expected\s+numeric.*manifest`},
		"another value":    {"apiVersion: apps/v1\nkind: StatefulSet\nspec: {podManagementPolicy: Sideways}", `(?s)StatefulSet \S+/trainer is not valid.*spec\.podManagementPolicy.*manifest`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Factories(t),
				Steps: []resource.TestStep{{
					Config: cluster.Config(ns, bare(byo(c.manifest))), PlanOnly: true, ExpectError: regexp.MustCompile(c.says),
				}},
			})
		})
	}
}
