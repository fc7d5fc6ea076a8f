package kinds_test

import (
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func lifeCycles() []acctest.LifeCycle {
	return []acctest.LifeCycle{
		{
			Name: "distributed", Mode: "deployment",
			Created: `distribute = { type = "pytorch", workers = 3, quorum_timeout = "5m" }`,
			Changed: `distribute = { type = "pytorch", workers = 2, quorum_workers = 1 }`,
			Kubectl: []string{"scale", "deployment/trainer", "--replicas=1"}, Drifts: []string{"replicas"},
			Hidden: []string{"distribute"},
		},
		{
			Name: "deployment", Mode: "deployment",
			Created: acctest.Manifest(`
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
			Changed: acctest.Manifest(`
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 3
  template: {spec: {containers: [{name: kubetorch, image: "mine:2"}]}}`),
			Kubectl: []string{"set", "image", "deployment/trainer", "kubetorch=other:1"}, Drifts: []string{"image"},
			Hidden: []string{"manifest"},
		},
		{
			Name: "stateful-set", Mode: "statefulset",
			Created: acctest.Manifest(`
apiVersion: apps/v1
kind: StatefulSet
spec:
  replicas: 2
  volumeClaimTemplates:
  - metadata: {name: scratch}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  template: {spec: {containers: [{name: kubetorch, volumeMounts: [{name: scratch, mountPath: /scratch}]}]}}`),
			Changed: acctest.Manifest(`
apiVersion: apps/v1
kind: StatefulSet
spec:
  replicas: 3
  volumeClaimTemplates:
  - metadata: {name: scratch}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  template: {spec: {containers: [{name: kubetorch, volumeMounts: [{name: scratch, mountPath: /scratch}]}]}}`) +
				`memory = "1Gi"`,
			Kubectl: []string{"scale", "statefulset/trainer", "--replicas=1"}, Drifts: []string{"replicas"},
		},
		{
			Name: "daemon-set", Mode: "daemonset",
			Created: acctest.Manifest("apiVersion: apps/v1\nkind: DaemonSet") +
				`node_selector = { "kubernetes.io/hostname" = "cpu-0" }`,
			Changed: acctest.Manifest("apiVersion: apps/v1\nkind: DaemonSet") +
				"node_selector = { \"kubernetes.io/hostname\" = \"cpu-1\" }\n env_vars = { A = \"b\" }",
			Kubectl: []string{"set", "env", "daemonset/trainer", "-c", "kubetorch", "KT_LOG_LEVEL=DEBUG"},
			Drifts:  []string{"logging_config"},
		},
		{
			Name: "replica-set", Mode: "replicaset",
			Created: acctest.Manifest("apiVersion: apps/v1\nkind: ReplicaSet") + `replicas = 2`,
			Changed: acctest.Manifest("apiVersion: apps/v1\nkind: ReplicaSet") + `replicas = 3`,
			Kubectl: []string{"scale", "replicaset/trainer", "--replicas=1"}, Drifts: []string{"replicas"},
		},
		{
			Name: "pod", Mode: "pod", NoSuspend: true,
			Created: acctest.Manifest("apiVersion: v1\nkind: Pod") + `image = "one:1"`,
			Changed: acctest.Manifest("apiVersion: v1\nkind: Pod") + `image = "two:2"`,
			Kubectl: []string{"label", "pod/trainer", "--overwrite", "app=other"}, Drifts: []string{"labels"},
		},
		{
			Name: "job", Mode: "job",
			Created: acctest.Manifest(`
apiVersion: batch/v1
kind: Job
spec: {backoffLimit: 1, template: {spec: {containers: [{name: kubetorch, command: [python, train.py]}]}}}`),
			Changed: acctest.Manifest(`
apiVersion: batch/v1
kind: Job
spec: {backoffLimit: 2, template: {spec: {containers: [{name: kubetorch, command: [python, train.py]}]}}}`),
			Kubectl: []string{"label", "job/trainer", "--overwrite", "app=other"}, Drifts: []string{"labels"},
			Hidden: []string{"launch_timeout"},
		},
		{
			Name: "cron-job", Mode: "cronjob",
			Created: acctest.Manifest(`
apiVersion: batch/v1
kind: CronJob
spec: {schedule: "0 3 * * *", jobTemplate: {spec: {template: {spec: {
  containers: [{name: kubetorch, command: [python, train.py]}]}}}}}`),
			Changed: acctest.Manifest(`
apiVersion: batch/v1
kind: CronJob
spec: {schedule: "0 4 * * *", jobTemplate: {spec: {template: {spec: {
  containers: [{name: kubetorch, command: [python, train.py]}]}}}}}`) + `cpus = 1`,
			Kubectl: []string{"patch", "cronjob/trainer", "-p", `{"spec": {"schedule": "0 5 * * *"}}`},
			Hidden:  []string{"launch_timeout"},
		},
		{
			Name: "selector", Mode: "selector", NoSuspend: true,
			Objects: "apiVersion: v1\nkind: Pod\nmetadata: {name: own, labels: {app: mine, tier: web}}\nspec: " +
				"{containers: [{name: a, image: \"a:1\"}]}",
			Created: `selector = { app = "mine" }`,
			Changed: `selector = { app = "mine", tier = "web" }`,
			Kubectl: []string{"patch", "service/trainer", "-p", `{"spec": {"selector": {"app": "theirs"}}}`},
			Drifts:  []string{"selector"},
			Hidden:  []string{"launch_timeout"},
		},
	}
}

func TestAccLifeCycleOfEveryKind(t *testing.T) {
	t.Parallel()
	acctest.RunLifeCycles(t, cluster, cluster.Namespace(t), lifeCycles()...)
}

// The plan rejects an invalid manifest and reports the invalid field.
func TestAccRejectedManifestIsReportedWithItsField(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	for name, c := range map[string]struct{ manifest, message string }{
		"an unknown field": {"apiVersion: apps/v1\nkind: Deployment\nspec: {replicaz: 2}",
			`(?s)Deployment \S+/trainer is not valid.*\.spec\.replicaz: field\s+not\s+declared.*manifest`},
		"another type": {"apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: \"2\"}",
			`(?s)Deployment \S+/trainer is not valid.*\.spec\.replicas: expected\s+numeric.*manifest`},
		"another value": {"apiVersion: apps/v1\nkind: StatefulSet\nspec: {podManagementPolicy: Sideways}",
			`(?s)StatefulSet \S+/trainer is not valid.*spec\.podManagementPolicy.*manifest`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Factories(t),
				Steps: []resource.TestStep{{
					Config: cluster.Config(ns, acctest.BareCompute(acctest.Manifest(c.manifest))), PlanOnly: true,
					ExpectError: regexp.MustCompile(c.message),
				}},
			})
		})
	}
}
