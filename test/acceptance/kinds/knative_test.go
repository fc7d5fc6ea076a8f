package kinds_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func knative() fakeController {
	return fakeController{
		gvr: schema.GroupVersionResource{Group: "serving.knative.dev", Version: "v1", Resource: "services"},
		status: func(obj *unstructured.Unstructured) map[string]any {
			return map[string]any{
				"observedGeneration": obj.GetGeneration(),
				"conditions":         conditions("ConfigurationsReady", "RoutesReady", "Ready"),
			}
		},
		// pkg/reconciler/route/resources/service.go of knative.dev/serving: the address in the cluster is that of the
		// ingress gateway.
		service: func(*unstructured.Unstructured) map[string]any {
			return map[string]any{
				"type": "ExternalName", "externalName": "kourier-internal.kourier-system.svc.cluster.local",
				"ports": []any{map[string]any{"name": "http2", "port": int64(80)}},
			}
		},
	}
}

// defaultsOfKnative sets what Knative's webhook sets on admission in a Service with one container: in the pod template
// (pkg/apis/serving/v1/revision_defaults.go of knative.dev/serving), whose list of containers is atomic, and the
// creator (pkg/apis/serving/metadata_validation.go), which no update may remove. Nobody manages these fields.
const defaultsOfKnative = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules:
    - {apiGroups: [serving.knative.dev], apiVersions: [v1], resources: [services], operations: [CREATE, UPDATE]}
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  variables:
  - {name: pod, expression: object.spec.template.spec}
  - {name: main, expression: "object.spec.template.spec.containers[0]"}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >
        (has(variables.pod.timeoutSeconds) ? [] :
          [JSONPatch{op: "add", path: "/spec/template/spec/timeoutSeconds", value: 300}]) +
        (has(variables.pod.containerConcurrency) ? [] :
          [JSONPatch{op: "add", path: "/spec/template/spec/containerConcurrency", value: 0}]) +
        (has(variables.pod.enableServiceLinks) ? [] :
          [JSONPatch{op: "add", path: "/spec/template/spec/enableServiceLinks", value: false}]) +
        (has(variables.main.resources) ? [] :
          [JSONPatch{op: "add", path: "/spec/template/spec/containers/0/resources",
            value: Object.spec.template.spec.containers.resources{}}]) +
        (has(variables.main.readinessProbe) ? [] :
          [JSONPatch{op: "add", path: "/spec/template/spec/containers/0/readinessProbe",
            value: Object.spec.template.spec.containers.readinessProbe{successThreshold: 1,
              tcpSocket: Object.spec.template.spec.containers.readinessProbe.tcpSocket{port: 0}}}]) +
        (request.operation != "CREATE" || has(object.metadata.annotations) ? [] :
          [JSONPatch{op: "add", path: "/metadata/annotations",
            value: {"serving.knative.dev/creator": request.userInfo.username}}]) +
        (request.operation != "CREATE" ? [] :
          [JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey("serving.knative.dev/creator"),
            value: request.userInfo.username}])
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules:
    - {apiGroups: [serving.knative.dev], apiVersions: [v1], resources: [services], operations: [UPDATE]}
  failurePolicy: Fail
  validations:
  - expression: >
      has(object.metadata.annotations) && "serving.knative.dev/creator" in object.metadata.annotations
    message: annotation value is immutable
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`

// admitAsKnative sets Knative's defaults in a namespace until the test ends.
func admitAsKnative(t *testing.T, on *acctest.Cluster, ns string) {
	t.Helper()
	on.Apply(t, fmt.Sprintf(defaultsOfKnative, ns))
	t.Cleanup(func() {
		on.Kubectl(t, "delete", "mutatingadmissionpolicy/"+ns, "mutatingadmissionpolicybinding/"+ns,
			"validatingadmissionpolicy/"+ns, "validatingadmissionpolicybinding/"+ns)
	})
	const probe = `{"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "probe"},
		"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}}`
	file := filepath.Join(t.TempDir(), "probe.json")
	if err := os.WriteFile(file, []byte(probe), 0o600); err != nil {
		t.Fatal(err)
	}
	on.WaitForOutput(t, "serving.knative.dev/creator", true, "create", "-f", file, "--dry-run=server", "-n", ns,
		"-o", "yaml")
}

func TestAccLifeCycleOfAnAutoscaledCompute(t *testing.T) {
	t.Parallel()
	on := withCRDs
	ns := on.Namespace(t)
	admitAsKnative(t, on, ns)
	knative().play(t, on, ns)
	acctest.LifeCycle{
		Mode:    "knative",
		Created: "gpus = 1\n autoscale = { min_scale = 1, max_scale = 4, target = 5, window = \"90s\" }",
		Changed: "autoscale = { max_scale = 8, metric = \"rps\", target = 100, concurrency = 10, target_utilization " +
			"= 80, initial_scale = 2, progress_deadline = \"20m\", scale_down_delay = \"5m\" }",
		Kubectl: []string{"patch", "services.serving.knative.dev/trainer", "--type=merge", "-p",
			`{"spec": {"template": {"metadata": {"annotations": {"autoscaling.knative.dev/max-scale": "9"}}}}}`},
		Drifts: []string{"autoscale"},
	}.Run(t, on, ns)
}

func TestAccLifeCycleOfAKnativeServiceManifest(t *testing.T) {
	t.Parallel()
	on := withCRDs
	ns := on.Namespace(t)
	admitAsKnative(t, on, ns)
	knative().play(t, on, ns)
	acctest.LifeCycle{
		Mode: "knative",
		Created: acctest.Manifest("apiVersion: serving.knative.dev/v1\nkind: Service\nspec: {template: {spec: " +
			"{containers: [{name: kubetorch, image: \"mine:1\"}]}}}"),
		Changed: acctest.Manifest("apiVersion: serving.knative.dev/v1\nkind: Service\nspec: {template: {spec: "+
			"{containers: [{name: kubetorch, image: \"mine:2\"}]}}}") + "memory = \"1Gi\"",
		Kubectl: []string{"patch", "services.serving.knative.dev/trainer", "--type=json", "-p",
			`[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "theirs:1"}]`},
		Drifts: []string{"image"},
		Hidden: []string{"autoscale", "manifest"}, // a Knative Service is imported as an autoscaled compute
	}.Run(t, on, ns)
}

// At a dry run, Knative's webhook also asks whether the pods could be created (pkg/webhook/podspec_dryrun.go of
// knative.dev/serving). An apply is not checked.
func TestAccRejectedPodsOfAnAutoscaledComputeAreAWarning(t *testing.T) {
	t.Parallel()
	on := withCRDs
	ns := on.Namespace(t)
	knative().play(t, on, ns)
	proxy := acctest.NewLossyProxy(t, on, func(request *http.Request) bool {
		return strings.Contains(request.URL.Path, "/serving.knative.dev/") && request.URL.Query().Has("dryRun")
	})
	proxy.Denial = fmt.Sprintf(`admission webhook "validation.webhook.serving.knative.dev" denied the request: `+
		`validation callback failed: dry run failed with pods "dry-run-validation" is forbidden: error looking up `+
		`service account %s/later: serviceaccount "later" not found: spec.template`, ns)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, proxy.Config(ns, acctest.BareCompute("autoscale = {}\nservice_account_name = \"later\"")))
	out := acctest.Unwrap(cli.MustRun(t, "apply", "-auto-approve"))
	acctest.ExpectText(t, out, "The API server would reject the pods of Knative Service "+ns+"/trainer",
		`ServiceAccount "later" does not exist in namespace `+ns, "Knative checks the pods only in a dry run")
	if strings.Contains(out, "The service account does not exist yet") {
		t.Errorf("the missing service account is reported twice:\n%s", out)
	}
	proxy.Denial = `admission webhook "validation.webhook.serving.knative.dev" denied the request: validation ` +
		`failed: must not set the field(s): spec.template.spec.tolerations`
	cli.Write(t, proxy.Config(ns, acctest.BareCompute("autoscale = {}\ngpus = 1")))
	out, err := cli.Run(t, "plan")
	if err == nil {
		t.Error("the plan of a rejected field succeeds")
	}
	acctest.ExpectText(t, acctest.Unwrap(out), "spec.template.spec.tolerations: must not set the field(s)",
		"in the ConfigMap config-features of Knative: kubernetes.podspec-tolerations")
	proxy.Repaired.Store(true) // a destroy refreshes with a plan
	cli.MustRun(t, "destroy", "-auto-approve")
}

func TestAccAnAdoptedKnativeServiceKeepsItsCreator(t *testing.T) {
	t.Parallel()
	on := withCRDs
	ns := on.Namespace(t)
	admitAsKnative(t, on, ns)
	knative().play(t, on, ns)
	file := filepath.Join(t.TempDir(), "service.json")
	const service = `{"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "trainer"},
		"spec": {"template": {"spec": {"containers": [{"name": "kubetorch", "image": "mine:1"}]}}}}`
	if err := os.WriteFile(file, []byte(service), 0o600); err != nil {
		t.Fatal(err)
	}
	on.Kubectl(t, "create", "-f", file, "-n", ns)
	computes := on.Resources(t, "kt_compute", ns, "")
	computes.Import(t, ns, []string{"trainer"})
	const body = "name = \"trainer\"\nimage = \"mine:1\"\nautoscale = {}\non_not_ready = \"ignore\"\n"
	for _, annotations := range []string{"annotations = { team = \"a\" }\n", ""} {
		bodies := map[string]string{"trainer": body + annotations}
		computes.Change(t, bodies)
		computes.ExpectNoChange(t, bodies)
	}
	if live := on.Kubectl(t, "get", "services.serving.knative.dev/trainer", "-n", ns, "-o", "yaml"); !strings.Contains(
		live, "serving.knative.dev/creator") || strings.Contains(live, "team: a") {
		t.Errorf("after the removal of the annotation:\n%s", live)
	}
}
