package kinds_test

import (
	"fmt"
	"io/fs"
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

// importedCompute and importedVolume are objects that the examples of imports find.
const (
	importedCompute = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: trainer}
spec:
  selector: {matchLabels: {kubetorch.com/service: trainer}}
  template:
    metadata: {labels: {kubetorch.com/service: trainer}}
    spec: {containers: [{name: kubetorch, image: "server:1.0"}]}
`
	importedVolume = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: datasets}
spec:
  accessModes: [ReadWriteMany]
  resources: {requests: {storage: 500Gi}}
`
)

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
		// The pages of the reference show these. An import by identity needs Terraform 1.12.
		{Dir: "resources/kt_compute", Without: []string{"identity.tf"}, Prepare: func(t *testing.T, ns string) {
			t.Helper()
			cluster.Apply(t, importedCompute, "-n", ns)
		}},
		{Dir: "resources/kt_volume", Without: []string{"identity.tf"}, Prepare: func(t *testing.T, ns string) {
			t.Helper()
			cluster.Apply(t, importedVolume, "-n", ns)
		}},
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
	t.Run("data-sources/kt_gpus", func(t *testing.T) {
		t.Parallel()
		on := acctest.OwnCluster(t, "--node", "name=gpu-0,gpus=8,product=NVIDIA-H100-80GB-HBM3")
		acctest.Example{Dir: "data-sources/kt_gpus"}.Run(t, on) // it uses all GPUs
	})
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

// elsewhere returns why the tables of examples lack a directory.
func elsewhere(dir string) string {
	return map[string]string{
		"actions":                      "TestAccActionExamplesAreAllRun in the package actions",
		"data-sources/kt_compute":      "TestAccDataSourceExamplesRead in the package datasources",
		"data-sources/kt_endpoint":     "it needs a server that runs: test/e2e/examples_test.go",
		"data-sources/kt_events":       "TestAccDataSourceExamplesRead in the package datasources",
		"data-sources/kt_image_digest": "it needs a registry: TestAccImageExamples in the package images",
		"data-sources/kt_metrics":      "it needs a server that runs: test/e2e/examples_test.go",
		"ephemeral-resources":          "it needs a server that runs; the tunnel of guides/tensor-servers is alike",
		"functions":                    "functions_test.go in the package computes",
		"gated-rollout":                "rollout_test.go in the package datasources",
		"guides/testing":               "TestAccModulesPassTheirTests in the package provider",
		"provider":                     "it has no resources, and names a context of a kubeconfig",
		"resources/kt_image":           "it needs a registry: TestAccImageExamples in the package images",
		"resources/kt_secret":          "TestAccSecretExamplesApplyWithAnEmptySecondPlan in the package secrets",
	}[dir]
}

// Examples that require controllers of other projects are tested in the package ecosystem.
func TestAccExamplesAreAllRun(t *testing.T) {
	t.Parallel()
	examples := filepath.Join(acctest.Root(), "examples")
	var source []byte
	for _, file := range []string{"examples_test.go", filepath.Join("..", "ecosystem", "examples_test.go")} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
	}
	found := 0
	err := filepath.WalkDir(examples, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		files, err := filepath.Glob(filepath.Join(path, "*.tf"))
		if err != nil || len(files) == 0 {
			return err
		}
		found++
		dir, err := filepath.Rel(examples, path)
		dir = filepath.ToSlash(dir)
		group, _, _ := strings.Cut(dir, "/")
		if elsewhere(dir)+elsewhere(group) == "" && !strings.Contains(string(source), fmt.Sprintf("Dir: %q", dir)) {
			t.Errorf("no test applies examples/%s", dir)
		}
		return err
	})
	if err != nil || found == 0 {
		t.Fatalf("%d examples found: %v", found, err)
	}
}
