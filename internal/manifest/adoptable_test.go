package manifest_test

import (
	"cmp"
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = obj.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// defaulted is a Deployment as the API server stores it.
const defaulted = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: ml
  labels: {team: ml}
  annotations: {note: x, deployment.kubernetes.io/revision: "3",
    deprecated.daemonset.template.generation: "2", kubectl.kubernetes.io/last-applied-configuration: "{}"}
spec:
  replicas: 1
  progressDeadlineSeconds: 600
  revisionHistoryLimit: 10
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  template:
    metadata: {creationTimestamp: null, labels: {app: web},
      annotations: {kubectl.kubernetes.io/restartedAt: "2026-01-01T00:00:00Z"}}
    spec:
      containers:
      - name: web
        image: nginx
        imagePullPolicy: Always
        env: [{name: NODE, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: spec.nodeName}}}]
        ports: [{containerPort: 80, protocol: TCP}, {containerPort: 53, protocol: UDP}]
        livenessProbe: {httpGet: {path: /, port: 80, scheme: HTTP}, failureThreshold: 3, periodSeconds: 10,
          successThreshold: 1, timeoutSeconds: 5}
        resources: {}
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
      - {name: proxy, image: "envoy:v1", imagePullPolicy: Always}
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      schedulerName: default-scheduler
      securityContext: {}
      serviceAccount: web
      serviceAccountName: web
      terminationGracePeriodSeconds: 60
      volumes: [{name: a, configMap: {name: a, defaultMode: 420}}, {name: b, emptyDir: {}}]
status: {readyReplicas: 1}
`

// undefaulted is the same Deployment as its manifest.
const undefaulted = `
apiVersion: apps/v1
kind: Deployment
metadata: {labels: {team: ml}, annotations: {note: x}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx
        env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
        ports: [{containerPort: 80}, {containerPort: 53, protocol: UDP}]
        livenessProbe: {httpGet: {path: /, port: 80}, timeoutSeconds: 5}
      - {name: proxy, image: "envoy:v1", imagePullPolicy: Always}
      serviceAccountName: web
      terminationGracePeriodSeconds: 60
      volumes: [{name: a, configMap: {name: a}}, {name: b, emptyDir: {}}]
`

func TestAdoptableWorkloadHasNoDefaultsOfTheServer(t *testing.T) {
	t.Parallel()
	got := manifest.Adoptable(object(t, defaulted))
	if diff := gocmp.Diff(manifest.Normalize(object(t, undefaulted)), got); diff != "" {
		t.Error(diff)
	}
	rendered, err := manifest.Render(manifest.Compute{Name: "web", Namespace: "ml", Manifest: got, ManifestOnly: true})
	if err != nil || len(rendered) != 1 {
		t.Fatal(err, rendered)
	}
	want := object(t, undefaulted)
	want.SetName("web")
	want.SetNamespace("ml")
	if diff := gocmp.Diff(manifest.Normalize(want), rendered[0].Object); diff != "" {
		t.Errorf("manifest_only adds or removes fields:\n%s", diff)
	}
}

func TestAdoptionDependsOnSelectorAndLabels(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		workload string
		want     manifest.Adoption
	}{
		"of Kubetorch": {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: " +
			"{kubetorch.com/template: deployment}}\nspec: {selector: {matchLabels: {kubetorch.com/service: a}}}",
			manifest.AsAttributes},
		"of Kubetorch, for another name": {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: " +
			"{kubetorch.com/template: deployment}}\nspec: {selector: {matchLabels: {kubetorch.com/service: b}}}",
			manifest.AsManifest},
		"by hand, with the selector": {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {selector: " +
			"{matchLabels: {kubetorch.com/service: a}}}", manifest.AsSettings},
		"another selector": {"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec: {selector: " +
			"{matchLabels: {app: a}}}", manifest.AsManifest},
		"CronJob": {"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}", manifest.AsManifest},
		"CronJob with a label of Kubetorch": {"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a, labels: " +
			"{kubetorch.com/service: a}}", manifest.AsSettings},
		"unknown kind": {"apiVersion: a.example/v1\nkind: A\nmetadata: {name: a}", manifest.AsSettings},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := manifest.AdoptionOf(object(t, test.workload)); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestInventoryCountsPodsAndGPUsOfAnyVendor(t *testing.T) {
	t.Parallel()
	const affinity = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: " +
		"[{matchExpressions: [{key: nvidia.com/gpu.product, operator: In, values: %s}]}]}}}, "
	limits := func(limits string) string { return "containers: [{name: a, resources: {limits: {" + limits + "}}}]" }
	for name, test := range map[string]struct {
		replicas, metadata, spec string
		pods, gpus               int64
		uses, selects            bool
	}{
		"none":         {replicas: "2", spec: limits(""), pods: 2},
		"NVIDIA":       {replicas: "2", spec: limits("nvidia.com/gpu: 4"), pods: 2, gpus: 8, uses: true},
		"AMD":          {spec: limits("amd.com/gpu: 1"), pods: 1, gpus: 1, uses: true},
		"Intel":        {spec: limits("gpu.intel.com/xe: 1"), pods: 1, gpus: 1, uses: true},
		"slices":       {spec: limits("nvidia.com/mig-1g.10gb: 1"), pods: 1, gpus: 1, uses: true},
		"other device": {spec: limits("rdma/hca: 1"), pods: 1},
		"suspended":    {replicas: "0", spec: limits("nvidia.com/gpu: 4"), uses: true},
		"a share":      {metadata: "annotations: {gpu-memory: '1024'}", spec: limits(""), pods: 1, uses: true},
		"selected by label": {spec: "nodeSelector: {nvidia.com/gpu.product: L4}, " + limits(""), pods: 1,
			selects: true},
		"selected by affinity": {spec: fmt.Sprintf(affinity, "[L4]") + limits(""), pods: 1, selects: true},
		"one of two products":  {spec: fmt.Sprintf(affinity, "[L4, T4]") + limits(""), pods: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := manifest.InventoryOf(object(t, fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\n"+
				"spec: {replicas: %s, template: {metadata: {%s}, spec: {%s}}}", cmp.Or(test.replicas, "1"),
				test.metadata, test.spec)))
			if got.Pods != test.pods || got.GPUs != test.gpus || got.UsesGPUs != test.uses {
				t.Errorf("%+v, want %+v", got, test)
			}
			l4 := manifest.NodeLabel{Key: "nvidia.com/gpu.product", Value: "L4"}
			if selects := got.Selects(l4); selects != test.selects {
				t.Errorf("selects L4: %v, want %v", selects, test.selects)
			}
		})
	}
}

// TestReadyPodsAreFoundInTheStatusOfEveryKind: the fields are those that package ready reads.
func TestReadyPodsAreFoundInTheStatusOfEveryKind(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]bool{
		"{}":                    false,
		"{readyReplicas: 0}":    false,
		"{readyReplicas: 1}":    true, // Deployment, StatefulSet, ReplicaSet, LeaderWorkerSet
		"{numberReady: 1}":      true, // DaemonSet
		"{active: 1, ready: 1}": true, // Job
		"{active: [{name: a}]}": true, // CronJob
		"{readyWorkerReplicas: 0, conditions: [{type: HeadPodReady, status: 'True'}]}":  true, // RayCluster
		"{readyWorkerReplicas: 0, conditions: [{type: HeadPodReady, status: 'False'}]}": false,
		"{rayClusterStatus: {readyWorkerReplicas: 2}}":                                  true, // RayJob
		"{replicaStatuses: {Master: {active: 1}, Worker: {succeeded: 1}}}":              true, // PyTorchJob
		"{replicaStatuses: {Master: {succeeded: 1}, Worker: {succeeded: 1}}}":           false,
		"{replicatedJobsStatus: [{name: a, ready: 0}, {name: b, ready: 1}]}":            true, // JobSet
		"{conditions: [{type: Ready, status: 'True'}]}":                                 true, // Knative Service
		"{conditions: [{type: Ready, status: Unknown}]}":                                false,
	} {
		if got := manifest.HasReadyPods(object(t, "apiVersion: a.example/v1\nkind: A\nstatus: "+status)); got != want {
			t.Errorf("%s: %t, want %t", status, got, want)
		}
	}
}

func TestReferencesOfVariablesAreKeptOnlyIfTheyAreTheSame(t *testing.T) {
	t.Parallel()
	workload := func(env string) *unstructured.Unstructured {
		return object(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {"+
			"containers: [{name: kubetorch, env: ["+env+"]}, "+
			"{name: sidecar, env: [{name: X, valueFrom: {fieldRef: {fieldPath: a}}}]}]}}}")
	}
	const (
		token = "{name: TOKEN, valueFrom: {secretKeyRef: {name: hf, key: TOKEN}}}"
		ip    = "{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}"
	)
	for name, test := range map[string]struct {
		rendered, live string
		want           bool
	}{
		"none":              {"", "{name: A, value: b}", true},
		"the same":          {token, token, true},
		"an additional one": {token + ", " + ip, token, true},
		"missing":           {token, token + ", " + ip, false},
		"another key": {token,
			"{name: TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token}}}", false},
		"optional": {token,
			"{name: TOKEN, valueFrom: {secretKeyRef: {name: hf, key: TOKEN, optional: true}}}", false},
		"a default of the server": {ip,
			"{name: IP, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: status.podIP}}}", true},
		"a value in its place":    {"{name: TOKEN, value: x}", token, false},
		"a reference for a value": {token, "{name: TOKEN, value: x}", true},
	} {
		if got := manifest.KeepsReferences(workload(test.rendered), workload(test.live)); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
