package query_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// adopted are three workloads: two of Kubetorch's Python, one of them with variables that no attribute sets, and one
// that does not know Kubetorch.
const adopted = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: python
  labels: {app: python, kubetorch.com/service: python, kubetorch.com/template: deployment, kubetorch.com/version: 0.5.0,
    kubetorch.com/username: alice, team: ml}
spec:
  replicas: 1
  selector: {matchLabels: {kubetorch.com/service: python}}
  template:
    metadata: {labels: {app: python, kubetorch.com/service: python, kubetorch.com/version: 0.5.0,
      kubetorch.com/username: alice, team: ml}}
    spec:
      serviceAccountName: kubetorch-service-account
      containers:
      - name: kubetorch
        image: "main:1"
        command: [/bin/bash, -c]
        args: [exec kubetorch server start]
        resources: {requests: {cpu: 10m}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: references
  labels: {kubetorch.com/service: references, kubetorch.com/template: deployment}
spec:
  replicas: 1
  selector: {matchLabels: {kubetorch.com/service: references}}
  template:
    metadata: {labels: {kubetorch.com/service: references}}
    spec:
      containers:
      - name: kubetorch
        image: "refs:1"
        command: [/bin/bash, -c]
        args: [exec kubetorch server start]
        env:
        - {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token, optional: true}}}
        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: vllm, labels: {app: vllm}}
spec:
  replicas: 1
  selector: {matchLabels: {app: vllm}}
  template:
    metadata: {labels: {app: vllm}}
    spec:
      containers:
      - {name: server, image: "vllm:1", env: [{name: MODE, value: fast}], resources: {limits: {nvidia.com/gpu: 1}}}
`

// edit replaces a text, which must exist, in the generated configuration.
func (q queries) edit(t *testing.T, old, replacement string) {
	t.Helper()
	file := filepath.Join(q.Dir, "generated.tf")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("the generated configuration has no %q:\n%s", old, text)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), old, replacement)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// expectPlan checks the summary of a plan, and returns its output.
func (q queries) expectPlan(t *testing.T, summary string) string {
	t.Helper()
	out := q.MustRun(t, "plan")
	if !strings.Contains(out, summary) {
		t.Errorf("the plan has no %q:\n%s", summary, out)
	}
	return out
}

func TestAccAdoptedWorkloadsAreManagedLikeOthers(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	q := newQueries(t, cluster.Config(ns, ""))
	cluster.Apply(t, adopted, "-n", ns, "--server-side", "--field-manager=kubetorch")
	uids := func() string {
		return cluster.Kubectl(t, "get", "deployments", "-n", ns, "-o", "jsonpath={.items[*].metadata.uid}")
	}
	before := uids()
	q.list(t, "kt_compute", "include_resource = true")
	q.MustRun(t, "query", "-generate-config-out=generated.tf")
	q.edit(t, "on_expiry  ", "on_not_ready = \"ignore\"\n  on_expiry  ")
	q.MustRun(t, "apply", "-auto-approve")
	q.expectPlan(t, "No changes")

	t.Log("drift of an adopted object shows, and an apply restores it")
	cluster.Kubectl(t, "set", "env", "deployment/vllm", "MODE=slow", "-n", ns)
	out := q.expectPlan(t, "0 to add, 1 to change, 0 to destroy")
	acctest.ExpectText(t, out, `containers["server"].env["MODE"].value: changed by kubectl-set`)
	q.MustRun(t, "apply", "-auto-approve")
	field := func(object, path string) string {
		return cluster.Kubectl(t, "get", object, "-n", ns, "-o", "jsonpath={"+path+"}")
	}
	if got := field("deployment/vllm", ".spec.template.spec.containers[*].env[0].value"); got != "fast" {
		t.Errorf("the variable is %q after the apply, want fast", got)
	}

	t.Log("a change of a manifest changes nothing else")
	q.edit(t, `"vllm:1"`, `"vllm:2"`)
	q.expectPlan(t, "0 to add, 1 to change, 0 to destroy")
	q.MustRun(t, "apply", "-auto-approve")
	got := field("deployment/vllm", ".spec.template.spec.containers[*].image}{.spec.template.metadata.labels")
	if got != `vllm:2{"app":"vllm"}` {
		t.Errorf("the image and the labels of the pods are %s", got)
	}
	if out, err := cluster.TryKubectl(t, "get", "service/vllm", "-n", ns); err == nil {
		t.Errorf("a Service was created: %s", out)
	}

	t.Log("references that no attribute can express stay")
	q.edit(t, `"refs:1"`, `"refs:2"`)
	q.expectPlan(t, "0 to add, 1 to change, 0 to destroy")
	q.MustRun(t, "apply", "-auto-approve")
	const container = ".spec.template.spec.containers[*]"
	got = field("deployment/references", container+".image}{"+container+".env")
	if !strings.HasPrefix(got, "refs:2") || !strings.Contains(got, `"key":"token"`) ||
		!strings.Contains(got, "podIP") {
		t.Errorf("the image and the variables are %s", got)
	}

	t.Log("what is removed from the configuration of a compute of Kubetorch is removed from the cluster")
	q.edit(t, `team = "ml"`, "")
	out = q.expectPlan(t, "0 to add, 1 to change, 0 to destroy")
	acctest.ExpectText(t, out, "app.kubernetes.io/managed-by")
	q.MustRun(t, "apply", "-auto-approve")
	if got := field("deployment/python", ".metadata.labels.team}{.spec.template.metadata.labels.team"); got != "" {
		t.Errorf("the label is still %q", got)
	}
	q.expectPlan(t, "No changes")
	if after := uids(); after != before {
		t.Errorf("the UIDs are %s, want %s", after, before)
	}
	found, out := q.found(t, "kt_compute", "config {\nmanaged = true\n}")
	if want := 3; len(found) != want {
		t.Errorf("the query finds %v, want %d managed computes:\n%s", found, want, out)
	}
	q.MustRun(t, "destroy", "-auto-approve")
	if left := cluster.Kubectl(t, "get", "deployments", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// The second deletion is that of an object that this provider has created.
func TestAccDeletedServiceOfAnAdoptedWorkloadIsCreatedAgain(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	q := newQueries(t, cluster.Config(ns, ""))
	cluster.Apply(t, adopted+"---\napiVersion: v1\nkind: Service\nmetadata: {name: python}\n"+
		"spec: {selector: {kubetorch.com/service: python}, ports: [{port: 80, targetPort: 32300}]}\n", "-n", ns)
	q.list(t, "kt_compute", "include_resource = true\nconfig {\nlabel_selector = \"app=python\"\n}")
	q.MustRun(t, "query", "-generate-config-out=generated.tf")
	q.edit(t, "on_expiry  ", "on_not_ready = \"ignore\"\n  on_expiry  ")
	q.MustRun(t, "apply", "-auto-approve")
	for range 2 {
		cluster.Kubectl(t, "delete", "service/python", "-n", ns)
		q.expectPlan(t, "0 to add, 1 to change, 0 to destroy")
		q.MustRun(t, "apply", "-auto-approve")
		cluster.Kubectl(t, "get", "service/python", "-n", ns)
		q.expectPlan(t, "No changes")
	}
	q.MustRun(t, "destroy", "-auto-approve")
}

// A Service with the name of a workload stays with its owner.
func TestAccAdoptedWorkloadLeavesTheServiceOfAnother(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	q := newQueries(t, cluster.Config(ns, ""))
	cluster.Apply(t, adopted+fmt.Sprintf("---\napiVersion: v1\nkind: Service\nmetadata: {name: vllm, namespace: %s}\n"+
		"spec: {selector: {app: vllm}, ports: [{port: 8000}]}\n", ns), "-n", ns)
	q.list(t, "kt_compute", "include_resource = true\nconfig {\nlabel_selector = \"app=vllm\"\n}")
	q.MustRun(t, "query", "-generate-config-out=generated.tf")
	q.MustRun(t, "apply", "-auto-approve")
	q.MustRun(t, "destroy", "-auto-approve")
	cluster.Kubectl(t, "get", "service/vllm", "-n", ns)
	if out, err := cluster.TryKubectl(t, "get", "deployment/vllm", "-n", ns); err == nil {
		t.Errorf("the Deployment still exists: %s", out)
	}
}

// An autoscaler that has not changed the number of pods yet is not visible in the managed fields.
func TestAccAdoptedWorkloadIsScaledByItsAutoscaler(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	q := newQueries(t, cluster.Config(ns, ""))
	var autoscalers strings.Builder
	for _, name := range []string{"vllm", "python"} {
		fmt.Fprintf(&autoscalers, `---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %[1]s}
spec:
  minReplicas: 2
  maxReplicas: 4
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`, name)
	}
	cluster.Apply(t, strings.ReplaceAll(adopted, "replicas: 1", "replicas: 2")+autoscalers.String(), "-n", ns)
	q.list(t, "kt_compute", "include_resource = true")
	q.MustRun(t, "query", "-generate-config-out=generated.tf")
	text, err := os.ReadFile(filepath.Join(q.Dir, "generated.tf"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "replicas"); n != 1 { // of the Deployment without an autoscaler
		t.Errorf("the generated configuration sets replicas %d times, want once:\n%s", n, text)
	}
	q.expectPlan(t, "Plan: 3 to import, 0 to add, 0 to change, 0 to destroy.")
	q.edit(t, "on_expiry  ", "on_not_ready = \"ignore\"\n  on_expiry  ")
	q.MustRun(t, "apply", "-auto-approve")
	for _, name := range []string{"vllm", "python"} {
		cluster.Kubectl(t, "scale", "deployment/"+name, "--replicas=3", "-n", ns)
	}
	q.expectPlan(t, "No changes")
	q.edit(t, `"vllm:1"`, `"vllm:2"`)
	q.edit(t, `"main:1"`, `"main:2"`)
	q.MustRun(t, "apply", "-auto-approve")
	for _, name := range []string{"vllm", "python"} {
		if n := cluster.Kubectl(t, "get", "deployment/"+name, "-n", ns, "-o", "jsonpath={.spec.replicas}"); n != "3" {
			t.Errorf("%s has %s replicas after an apply, want those of its autoscaler", name, n)
		}
	}
	q.expectPlan(t, "No changes")
}
