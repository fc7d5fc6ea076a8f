package drift_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// drifting contains attributes whose fields users often change by hand.
const drifting = `
  memory        = "1Gi"
  replicas      = 2
  labels        = { team = "ml" }
  annotations   = { owner = "alice" }
  env_vars      = { MODE = "fast" }
  node_selector = { "kubernetes.io/os" = "linux" }
  shared_memory_limit = "256Mi"
`

// addForeignFields changes fields that the provider does not own. Its containers and ports
// come before those of the provider.
func addForeignFields(t *testing.T, ns, name string) {
	t.Helper()
	cluster.Kubectl(t, "patch", "deployment/"+name, "-n", ns, "-p", `{
		"metadata": {"annotations": {"controller.example/seen": "yes"}, "labels": {"controller.example/zone": "a"}},
		"spec": {"revisionHistoryLimit": 3, "template": {
			"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}},
			"spec": {
				"volumes": [{"name": "injected", "emptyDir": {}}],
				"containers": [
					{"name": "injected", "image": "sidecar:1"},
					{"name": "kubetorch", "env": [{"name": "INJECTED", "value": "1"}],
					"resources": {"limits": {"memory": "8Gi"}},
					 "volumeMounts": [{"name": "injected", "mountPath": "/injected"}]}]}}}}`)
	cluster.Kubectl(t, "patch", "service/"+name, "-n", ns, "-p", `{
		"metadata": {"annotations": {"controller.example/seen": "yes"}},
		"spec": {"sessionAffinity": "ClientIP", "ports": [{"name": "debug", "port": 81}]}}`)
}

// change is a change outside of Terraform.
type change struct {
	name       string
	attributes string   // of the compute; drifting if empty
	kubectl    []string // arguments of the command that makes the change
	recreated  bool     // an object is deleted, including the fields of other managers

	// Expected in the next plan: attributes other than manifests, fields in manifests,
	// and warnings.
	plans    []string
	fields   []string
	warnings []string
}

// slug returns the name of the changed compute.
func (c change) slug() string { return acctest.CaseName(c.name) }

func (c change) commands() []string {
	var out []string
	for _, word := range c.kubectl {
		out = append(out, strings.ReplaceAll(word, "trainer", c.slug()))
	}
	return out
}

func jsonPatch(object, operations string) []string {
	return []string{"patch", object, "--type=json", "-p", operations}
}

const (
	dep       = "Deployment "
	container = dep + "spec.template.spec.containers.0."
	thePod    = "spec.template.spec."
	named     = `spec.template.spec.containers["kubetorch"].`
)

func changes() []change {
	return []change{
		{
			name: "replicas scaled", kubectl: []string{"scale", "deployment/trainer", "--replicas=5"},
			plans: []string{"replicas"}, fields: []string{dep + "spec.replicas"},
			warnings: []string{"spec.replicas: changed by kubectl\n"},
		},
		{
			name: "image set", kubectl: []string{"set", "image", "deployment/trainer", "kubetorch=other:1"},
			plans: []string{"image"}, fields: []string{container + "image"},
			warnings: []string{named + "image: changed by kubectl-set at "},
		},
		{
			name:    "log level set",
			kubectl: []string{"set", "env", "deployment/trainer", "-c", "kubetorch", "KT_LOG_LEVEL=DEBUG"},
			plans:   []string{"logging_config"}, fields: []string{container + "env.1.value"},
			warnings: []string{named + `env["KT_LOG_LEVEL"].value: changed by kubectl-set at `},
		},
		{
			name: "variable set", kubectl: []string{"set", "env", "deployment/trainer", "-c", "kubetorch", "MODE=slow"},
			plans:    []string{"env_vars"}, // manifests refers to it
			warnings: []string{named + `env["MODE"].value: changed by kubectl-set at `},
		},
		{
			name: "variable removed", kubectl: []string{"set", "env", "deployment/trainer", "-c", "kubetorch", "MODE-"},
			plans: []string{"env_vars"}, fields: []string{container + "env"},
			warnings: []string{named + `env["MODE"]: removed (Kubernetes does not record who removes a field)`},
		},
		{
			name: "resources set",
			kubectl: []string{"set", "resources", "deployment/trainer", "-c", "kubetorch",
				"--requests=cpu=2,memory=3Gi"},
			plans:  []string{"cpus", "memory"},
			fields: []string{container + "resources.requests.cpu", container + "resources.requests.memory"},
			warnings: []string{named + "resources.requests.cpu: changed by kubectl-set at ",
				named + "resources.requests.memory: changed by kubectl-set at "},
		},
		{
			name: "label changed", kubectl: []string{"label", "deployment/trainer", "--overwrite", "team=web"},
			plans: []string{"labels"}, fields: []string{dep + "metadata.labels.team"},
			warnings: []string{"metadata.labels.team: changed by kubectl-label at "},
		},
		{
			name: "label removed", kubectl: []string{"label", "deployment/trainer", "team-"},
			plans: []string{"labels"}, fields: []string{dep + "metadata.labels.team"},
			warnings: []string{"metadata.labels.team: removed (Kubernetes does not record who removes a field)"},
		},
		{
			name: "label of the pods removed",
			kubectl: jsonPatch("deployment/trainer",
				`[{"op": "remove", "path": "/spec/template/metadata/labels/team"}]`),
			fields:   []string{dep + "spec.template.metadata.labels.team"},
			warnings: []string{"spec.template.metadata.labels.team: removed ("},
		},
		{
			name:     "label of the provider removed",
			kubectl:  []string{"label", "deployment/trainer", "app.kubernetes.io/managed-by-"},
			fields:   []string{dep + "metadata.labels.app.kubernetes.io/managed-by"},
			warnings: []string{`metadata.labels["app.kubernetes.io/managed-by"]: removed (`},
		},
		{
			name: "annotation changed", kubectl: []string{"annotate", "deployment/trainer", "--overwrite", "owner=bob"},
			plans: []string{"annotations"}, fields: []string{dep + "metadata.annotations.owner"},
			warnings: []string{"metadata.annotations.owner: changed by kubectl-annotate at "},
		},
		{
			name: "toleration added", attributes: `
			  gpus     = 1
			  gpu_type = "NVIDIA-L4"`,
			kubectl: jsonPatch("deployment/trainer",
				`[{"op": "add", "path": "/spec/template/spec/tolerations/-", "value": {"key": "spot", "operator": `+
					`"Exists"}}]`),
			plans: []string{"tolerations"}, fields: []string{dep + thePod + "tolerations"},
			warnings: []string{"spec.template.spec.tolerations: changed by kubectl-patch at "},
		},
		{
			name: "GPU product changed", attributes: `gpu_type = "NVIDIA-L4"`,
			kubectl: []string{"patch", "deployment/trainer", "-p",
				`{"spec": {"template": {"spec": {"nodeSelector": {"nvidia.com/gpu.product": ` +
					`"NVIDIA-H100-80GB-HBM3"}}}}}`},
			plans: []string{"gpu_type"}, fields: []string{dep + thePod + "nodeSelector.nvidia.com/gpu.product"},
			warnings: []string{`spec.template.spec.nodeSelector: changed by kubectl-patch at `},
		},
		{
			name: "node selector changed",
			kubectl: []string{"patch", "deployment/trainer", "-p",
				`{"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/os": "windows"}}}}}`},
			plans: []string{"node_selector"}, fields: []string{dep + thePod + "nodeSelector.kubernetes.io/os"},
			warnings: []string{`spec.template.spec.nodeSelector: changed by kubectl-patch at `},
		},
		{
			name:    "service account changed",
			kubectl: []string{"set", "serviceaccount", "deployment/trainer", "default"},
			plans:   []string{"service_account_name"}, fields: []string{dep + thePod + "serviceAccountName"},
			warnings: []string{"spec.template.spec.serviceAccountName: changed by kubectl-set at "},
		},
		{
			name: "probe edited",
			kubectl: jsonPatch("deployment/trainer",
				`[{"op": "replace", "path": "/spec/template/spec/containers/1/readinessProbe/periodSeconds", `+
					`"value": 9}]`),
			fields:   []string{container + "readinessProbe.periodSeconds"},
			warnings: []string{named + "readinessProbe.periodSeconds: changed by kubectl-patch at "},
		},
		{
			name: "start-up time edited",
			kubectl: jsonPatch("deployment/trainer",
				`[{"op": "replace", "path": "/spec/template/spec/containers/1/startupProbe/failureThreshold", `+
					`"value": 60}]`),
			plans: []string{"launch_timeout"}, fields: []string{container + "startupProbe.failureThreshold"},
			warnings: []string{named + "startupProbe.failureThreshold: changed by kubectl-patch at "},
		},
		{
			name: "probe replaced by a command",
			kubectl: jsonPatch("deployment/trainer", `[
				{"op": "remove", "path": "/spec/template/spec/containers/1/livenessProbe/httpGet"},
				{"op": "add", "path": "/spec/template/spec/containers/1/livenessProbe/exec",
				 "value": {"command": ["true"]}}]`),
			fields:   []string{container + "livenessProbe.httpGet"},
			warnings: []string{named + "livenessProbe.httpGet.path: removed ("},
		},
		{
			name: "capability removed",
			kubectl: jsonPatch("deployment/trainer",
				`[{"op": "remove", "path": "/spec/template/spec/containers/1/securityContext"}]`),
			plans: []string{"freeze"}, fields: []string{container + "securityContext"},
			warnings: []string{named + "securityContext.capabilities.add: removed ("},
		},
		{
			name: "strategy changed",
			kubectl: []string{"patch", "deployment/trainer", "-p",
				`{"spec": {"strategy": {"type": "RollingUpdate"}}}`},
			plans: []string{"strategy"}, fields: []string{dep + "spec.strategy.type"},
			warnings: []string{"spec.strategy.type: changed by kubectl-patch at "},
		},
		{
			name: "shared memory resized",
			kubectl: []string{"patch", "deployment/trainer", "-p",
				`{"spec": {"template": {"spec": {"volumes": [{"name": "dshm", "emptyDir": {"sizeLimit": "1Gi"}}]}}}}`},
			plans: []string{"shared_memory_limit"}, fields: []string{dep + thePod + "volumes.0.emptyDir.sizeLimit"},
			warnings: []string{`spec.template.spec.volumes["dshm"].emptyDir.sizeLimit: changed by kubectl-patch at `},
		},
		{
			name: "source of a volume swapped",
			kubectl: []string{"patch", "deployment/trainer", "-p", `{"spec": {"template": {"spec": {"volumes": [
				{"name": "dshm", "emptyDir": null, "hostPath": {"path": "/etc"}}]}}}}`},
			plans: []string{"shared_memory_limit"}, fields: []string{dep + thePod + "volumes.0.emptyDir"},
			warnings: []string{`spec.template.spec.volumes["dshm"].hostPath: added by kubectl-patch at `},
		},
		{
			name: "variable made a reference",
			kubectl: []string{"patch", "deployment/trainer", "-p", `{"spec": {"template": {"spec": {"containers": [
				{"name": "kubetorch", "env": [
					{"name": "MODE", "value": null, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}]}}}}`},
			plans: []string{"env_vars"}, fields: []string{container + "env.0.value"},
			warnings: []string{
				named + `env["MODE"].value: removed (`, named + `env["MODE"].valueFrom: added by kubectl-patch at `,
			},
		},
		{
			name: "container port changed",
			kubectl: jsonPatch("deployment/trainer",
				`[{"op": "replace", "path": "/spec/template/spec/containers/1/ports/0/containerPort", "value": 9000}]`),
			fields:   []string{container + "ports"},
			warnings: []string{named + "ports[containerPort=32300,protocol=TCP]: removed ("},
		},
		{
			name:    "port of the Service changed",
			kubectl: jsonPatch("service/trainer", `[{"op": "replace", "path": "/spec/ports/1/port", "value": 8080}]`),
			fields:  []string{"Service spec.ports"},
			warnings: []string{"Service ID was changed outside of Terraform",
				"spec.ports[port=80,protocol=TCP]: removed (Kubernetes does not record who removes a field)"},
		},
		{
			name: "target of the Service changed",
			kubectl: jsonPatch("service/trainer",
				`[{"op": "replace", "path": "/spec/ports/1/targetPort", "value": 9000}]`),
			fields:   []string{"Service spec.ports.0.targetPort"},
			warnings: []string{"spec.ports[port=80,protocol=TCP].targetPort: changed by kubectl-patch at "},
		},
		{
			name:    "selector of the Service changed",
			kubectl: []string{"set", "selector", "service", "trainer", "kubetorch.com/service=other"},
			plans:   []string{"endpoint"}, fields: []string{"Service spec.selector.kubetorch.com/service"},
			warnings: []string{`spec.selector: changed by kubectl-set at `},
		},
		{
			name: "Service deleted", kubectl: []string{"delete", "service", "trainer"}, recreated: true,
			fields:   []string{"Service"},
			warnings: []string{"Service ID no longer exists"},
		},
	}
}

// All changes are made in one run, each to a separate compute.
