package kinds_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// externalMetrics is the API of external metrics, as an adapter serves it. Its only metric is waiting.
type externalMetrics struct{ waiting atomic.Int64 }

func (m *externalMetrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const version = "external.metrics.k8s.io/v1beta1"
	response := map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version,
		"resources": []any{map[string]any{"name": "waiting", "namespaced": true, "kind": "ExternalMetricValueList",
			"verbs": []string{"get"}}}}
	switch path := strings.TrimSuffix(r.URL.Path, "/"); {
	case path == "/apis/"+version:
	case strings.HasSuffix(path, "/waiting"):
		response = map[string]any{"kind": "ExternalMetricValueList", "apiVersion": version, "items": []any{
			map[string]any{"metricName": "waiting", "metricLabels": nil,
				"timestamp": time.Now().UTC().Format(time.RFC3339), "value": fmt.Sprint(m.waiting.Load())},
		}}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(response)
}

// serveMetrics adds an API of external metrics to a cluster.
func serveMetrics(t *testing.T, on *acctest.Cluster, ns string) *externalMetrics {
	t.Helper()
	metrics := &externalMetrics{}
	server := httptest.NewTLSServer(metrics)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	on.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: metrics, namespace: %[1]s}
spec: {type: ExternalName, externalName: localhost, ports: [{port: %[2]s}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.external.metrics.k8s.io}
spec:
  group: external.metrics.k8s.io
  version: v1beta1
  insecureSkipTLSVerify: true
  groupPriorityMinimum: 100
  versionPriority: 100
  service: {name: metrics, namespace: %[1]s, port: %[2]s}
`, ns, address.Port()))
	on.Kubectl(t, "wait", "apiservice/v1beta1.external.metrics.k8s.io", "--for=condition=Available", "--timeout=60s")
	return metrics
}

// The controller of the HorizontalPodAutoscaler is that of Kubernetes.
func TestAccAutoscalerSetsTheNumberOfPods(t *testing.T) {
	t.Parallel()
	on := acctest.OwnCluster(t)
	ns := on.Namespace(t)
	metrics := serveMetrics(t, on, ns)
	computes := on.Resources(t, "kt_compute", ns, "")
	body := func(attributes string) map[string]string {
		return map[string]string{"llm": "name = \"llm\"\nlaunch_timeout = \"5m\"\n" +
			"command = [\"serve\"]\nport = 8000\n" + attributes}
	}
	scaled := func(metric string) map[string]string {
		return body(fmt.Sprintf(`autoscale = {
		  scaler = "hpa", min_scale = 2, max_scale = 4
		  metrics  = [{ external = { metric = { name = %q }, target = { average_value = "10" } } }]
		  behavior = { scale_down = { stabilization_window_seconds = 0 } }
		}`, metric))
	}
	number := func() string {
		return on.Kubectl(t, "get", "deployment/llm", "-n", ns, "-o", "jsonpath={.spec.replicas}")
	}
	becomes := func(want string) {
		t.Helper()
		acctest.WaitUntil(t, "the Deployment has "+want+" replicas", func() bool { return number() == want })
	}
	pods := func() []string {
		return strings.Fields(on.Kubectl(t, "get", "pods", "-n", ns, "-o", "jsonpath={.items[*].metadata.uid}"))
	}

	computes.Change(t, body("replicas = 3"))
	before := pods()
	metrics.waiting.Store(30)
	computes.Change(t, scaled("waiting")) // from 3 replicas to an autoscaler that wants 3
	if got := number(); got != "3" || computes.Attribute("llm", "replicas") != nil {
		t.Errorf("%s replicas, and the attribute is %v", got, computes.Attribute("llm", "replicas"))
	}
	if after := pods(); !slices.Equal(after, before) {
		t.Errorf("the pods were replaced: %v, before %v", after, before)
	}
	metrics.waiting.Store(35)
	becomes("4")
	computes.ExpectNoChange(t, scaled("waiting"))
	metrics.waiting.Store(0)
	becomes("2")
	computes.ExpectNoChange(t, scaled("waiting"))

	computes.Import(t, ns, []string{"llm"})
	computes.ExpectNoChange(t, scaled("waiting"))
	on.Kubectl(t, "patch", "hpa/llm", "-n", ns, "--type=merge", "-p", `{"spec": {"maxReplicas": 3}}`)
	drifted := computes.Plan(t, scaled("waiting"))["llm"]
	if !slices.Contains(drifted.Attributes(), "autoscale") {
		t.Errorf("the plan changes %q", drifted.Attributes())
	}
	on.Kubectl(t, "delete", "hpa/llm", "-n", ns)
	computes.Change(t, scaled("waiting"))
	on.Kubectl(t, "get", "hpa/llm", "-n", ns)
	if got := number(); got != "2" {
		t.Errorf("%s replicas after the autoscaler was created again", got)
	}

	suspended := body(strings.TrimPrefix(scaled("waiting")["llm"], body("")["llm"]) + "\nsuspend = true")
	computes.Change(t, suspended)
	if got := number(); got != "0" || computes.Attribute("llm", "ready") != false {
		t.Errorf("%s replicas and ready %v while suspended", got, computes.Attribute("llm", "ready"))
	}
	computes.Change(t, scaled("waiting"))
	becomes("2")
	computes.ExpectNoChange(t, scaled("waiting"))

	computes.Change(t, body("replicas = 3"))
	if left := on.Kubectl(t, "get", "hpa", "-n", ns, "-o", "name"); left != "" || number() != "3" {
		t.Errorf("%s replicas, and left behind: %s", number(), left)
	}
	computes.Destroy(t)
}

func TestAccAutoscalerWithoutItsMetricIsExplained(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	cli.Write(t, cluster.Config(ns, acctest.BareCompute(`autoscale = {
	  scaler = "hpa", max_scale = 2
	  metrics = [{ external = { metric = { name = "missing" }, target = { average_value = "10" } } }]
	}`)))
	out := cli.MustRun(t, "apply", "-auto-approve", "-no-color")
	for _, want := range []string{"is not ready: scaling inactive", "FailedGetExternalMetric", "autoscale.metrics",
		"The pods of the compute run"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("the warning does not contain %q:\n%s", want, out)
		}
	}
	if out := cli.MustRun(t, "plan", "-no-color"); !strings.Contains(out, "No changes") {
		t.Errorf("the second plan is not empty:\n%s", out)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
	if left := cluster.Kubectl(t, "get", "deployments,hpa", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// The CRD is that of KEDA 2.21. Its operator does not run, so the test writes the status.
func TestAccScaledObjectIsCreatedChangedAndImported(t *testing.T) {
	t.Parallel()
	crds, err := acctest.ScaledObjectCRDArgs()
	if err != nil {
		t.Fatal(err)
	}
	on := acctest.OwnCluster(t, crds...)
	ns := on.Namespace(t)
	computes := on.Resources(t, "kt_compute", ns, "")
	body := func(attributes string) map[string]string {
		return map[string]string{"llm": `name = "llm"
		  on_not_ready = "ignore"
		  command = ["serve"]
		  autoscale = {
		    scaler = "keda", max_scale = 4, polling_interval = "10s", cooldown_period = "10m"
		    triggers = [{ type = "prometheus", metadata = { threshold = "5", query = "waiting" }
		      authentication_ref = { name = "prometheus" } }]
		    ` + attributes + `
		  }`}
	}
	first, second := body(""), body(`min_scale = 1
	  behavior = { scale_up = { stabilization_window_seconds = 30 } }`)
	computes.Change(t, first)
	on.Kubectl(t, "scale", "deployment/llm", "-n", ns, "--replicas=0") // as KEDA does
	computes.ExpectNoChange(t, first)
	computes.Change(t, second)
	computes.Import(t, ns, []string{"llm"})
	computes.ExpectNoChange(t, second)
	on.Kubectl(t, "patch", "scaledobject/llm", "-n", ns, "--type=merge", "-p", `{"spec": {"cooldownPeriod": 60}}`)
	if p := computes.Plan(t, second)["llm"]; !slices.Contains(p.Attributes(), "autoscale") {
		t.Errorf("the plan changes %q", p.Attributes())
	}
	computes.Change(t, second)
	computes.Destroy(t)
	if left := on.Kubectl(t, "get", "deployments,scaledobjects", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}
