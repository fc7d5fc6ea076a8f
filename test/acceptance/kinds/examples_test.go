package kinds_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// referenced are the objects that the example of the guide about pods refers to.
const referenced = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: server}, data: {log-level: info, server.yaml: "{}"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: database}, stringData: {USER: none}}
---
{apiVersion: v1, kind: Secret, metadata: {name: hub}, stringData: {HF_TOKEN: not-a-real-token}}
`

// prerequisites are objects that the example production-service requires in its namespace.
const prerequisites = `
apiVersion: v1
kind: Secret
metadata: {name: huggingface}
stringData: {HF_TOKEN: not-a-real-token}
---
apiVersion: v1
kind: Secret
metadata: {name: aws}
stringData: {credentials: none}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: weights}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`

// migrated are objects as other clients create them: Deployments with the selector of Kubetorch 0.5.0, one of them with
// the headless Service of .distribute(), a claim and a Secret.
const migrated = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: trainer}
spec:
  selector: {matchLabels: {kubetorch.com/service: trainer}}
  template:
    metadata: {labels: {kubetorch.com/service: trainer}}
    spec: {containers: [{name: kubetorch, image: "server:1.0"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: alice-train}
spec:
  selector: {matchLabels: {kubetorch.com/service: alice-train}}
  template:
    metadata: {labels: {kubetorch.com/service: alice-train}}
    spec: {containers: [{name: kubetorch, image: "server:1.0"}]}
---
apiVersion: v1
kind: Service
metadata: {name: alice-train}
spec:
  selector: {kubetorch.com/service: alice-train}
  ports: [{name: http, port: 80, targetPort: 32300}]
---
apiVersion: v1
kind: Service
metadata: {name: alice-train-headless}
spec:
  clusterIP: None
  selector: {kubetorch.com/service: alice-train}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: datasets}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 500Gi}}
---
apiVersion: v1
kind: Secret
metadata: {name: huggingface}
stringData: {HF_TOKEN: an-older-token}
`

func TestAccExamplesApplyWithAnEmptySecondPlan(t *testing.T) {
	t.Parallel()
	for _, e := range []acctest.Example{
		{Dir: "vllm"},
		{Dir: "autoscaled-hpa"},
		{Dir: "cpu-service"},
		{Dir: "gpu-training"},
		{Dir: "production-service", Prepare: func(t *testing.T, ns string) {
			t.Helper()
			cluster.Apply(t, prerequisites, "-n", ns)
		}},
		{Dir: "ddp-training"},
		{Dir: "team-storage", Env: map[string]string{"HF_TOKEN": "not-a-real-token"}},
		// The pages of docs/guides show these.
		{Dir: "guides/getting-started"},
		{Dir: "guides/ci"},
		{Dir: "guides/drift"},
		{Dir: "guides/from-kubernetes"},
		{Dir: "guides/from-kubetorch", Env: map[string]string{
			"HF_TOKEN": "not-a-real-token", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none",
		}},
		{Dir: "guides/migration", Env: map[string]string{"HF_TOKEN": "not-a-real-token"},
			Prepare: func(t *testing.T, ns string) {
				t.Helper()
				cluster.Apply(t, migrated, "-n", ns)
			}},
		// Without the old resources in the state, its moved blocks have no effect. Package ownership tests them.
		{Dir: "guides/moved", Env: map[string]string{"TOKEN": "not-a-real-token"}},
		{Dir: "guides/multiple-clusters"},
		{Dir: "guides/security"},
		{Dir: "guides/spot"},
		{Dir: "guides/pods", Prepare: func(t *testing.T, ns string) {
			t.Helper()
			cluster.Apply(t, referenced, "-n", ns)
		}},
		{Dir: "guides/gpu-types", Prepare: func(t *testing.T, _ string) {
			t.Helper()
			const label = "karpenter.k8s.aws/instance-gpu-name"
			cluster.Kubectl(t, "label", "nodes", "h100-0", label+"=l4")
			t.Cleanup(func() { cluster.Kubectl(t, "label", "nodes", "h100-0", label+"-") })
		}},
	} {
		t.Run(e.Dir, func(t *testing.T) {
			t.Parallel()
			e.Run(t, cluster)
		})
	}
	t.Run("autoscaled-inference", func(t *testing.T) {
		t.Parallel()
		on := withCRDs
		acctest.Example{Dir: "autoscaled-inference", Prepare: func(t *testing.T, ns string) {
			t.Helper()
			knative().play(t, on, ns)
		}}.Run(t, on)
	})
	t.Run("guides/serve-a-model", func(t *testing.T) {
		t.Parallel()
		acctest.Example{Dir: "guides/serve-a-model", Env: map[string]string{"HF_TOKEN": "not-a-real-token"},
			Check: objectsNextToVLLM}.Run(t, withCRDs)
	})
	for _, e := range []acctest.Example{
		{Dir: "tensor-server"},
		// The others need a server that runs, so the tests with real pods apply them.
		{Dir: "guides/tensor-servers", Without: []string{"probe.tf", "metrics.tf", "tunnel.tf"}},
	} {
		t.Run(e.Dir, func(t *testing.T) {
			t.Parallel()
			on := withCRDs.WithComputes(t)
			e.Prepare = func(t *testing.T, ns string) {
				t.Helper()
				acctest.SkyTorch().Run(t, on, ns)
				acctest.KPU().Run(t, on, ns)
			}
			e.Run(t, on)
		})
	}
}

// objectsNextToVLLM applies the objects that the guide shows next to the compute. No controller acts on them here, so
// it checks that they select its pods and its port.
func objectsNextToVLLM(t *testing.T, ns string) {
	t.Helper()
	for file, path := range map[string]struct{ kind, labels, port string }{
		"pod-monitor.yaml": {"podmonitor", "{.spec.selector.matchLabels}",
			"{.spec.podMetricsEndpoints[*].portNumber}"},
		"inference-pool.yaml": {"inferencepool", "{.spec.selector.matchLabels}", "{.spec.targetPorts[*].number}"},
	} {
		withCRDs.Kubectl(t, "apply", "-n", ns, "-f",
			filepath.Join(acctest.Root(), "examples", "guides", "serve-a-model", file))
		read := func(object, field string) string {
			return withCRDs.Kubectl(t, "get", object, "-n", ns, "-o", "jsonpath="+field)
		}
		labels := read("deployment/vllm", "{.spec.selector.matchLabels}")
		if got := read(path.kind+"/vllm", path.labels); got != labels {
			t.Errorf("%s selects %s, the compute %s", file, got, labels)
		}
		port := read("deployment/vllm", "{.spec.template.spec.containers[*].ports[*].containerPort}")
		if got := read(path.kind+"/vllm", path.port); got != port {
			t.Errorf("%s has the port %s, the compute %s", file, got, port)
		}
	}
}

// Examples that require controllers of other projects are tested in the package ecosystem.
func TestAccExamplesAreAllRun(t *testing.T) {
	t.Parallel()
	examples := filepath.Join(acctest.Root(), "examples")
	files, err := filepath.Glob(filepath.Join(examples, "*", "main.tf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	guides, err := filepath.Glob(filepath.Join(examples, "guides", "*", "main.tf"))
	if err != nil || len(guides) == 0 {
		t.Fatalf("no examples of guides found: %v", err)
	}
	var source []byte
	for _, file := range []string{"examples_test.go", filepath.Join("..", "ecosystem", "examples_test.go")} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
	}
	for _, file := range append(files, guides...) {
		dir, err := filepath.Rel(examples, filepath.Dir(file))
		if err != nil || !strings.Contains(string(source), fmt.Sprintf("Dir: %q", filepath.ToSlash(dir))) {
			t.Errorf("no test applies examples/%s: %v", dir, err)
		}
	}
}
