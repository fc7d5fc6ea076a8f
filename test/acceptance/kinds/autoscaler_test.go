package kinds_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The controller of the HorizontalPodAutoscaler is that of Kubernetes.
func TestAccAutoscalerSetsTheNumberOfPods(t *testing.T) {
	t.Parallel()
	on := acctest.OwnCluster(t)
	ns := on.Namespace(t)
	metrics := acctest.ServeMetrics(t, on, ns)
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
	metrics.Value.Store(30)
	computes.Change(t, scaled("waiting")) // from 3 replicas to an autoscaler that wants 3
	if got := number(); got != "3" || computes.Attribute("llm", "replicas") != nil {
		t.Errorf("%s replicas, and the attribute is %v", got, computes.Attribute("llm", "replicas"))
	}
	if after := pods(); !slices.Equal(after, before) {
		t.Errorf("the pods were replaced: %v, before %v", after, before)
	}
	metrics.Value.Store(35)
	becomes("4")
	computes.ExpectNoChange(t, scaled("waiting"))
	metrics.Value.Store(0)
	becomes("2")
	computes.ExpectNoChange(t, scaled("waiting"))

	// The controller is disabled without pods, also if KEDA has removed them.
	on.Kubectl(t, "scale", "deployment/llm", "-n", ns, "--replicas=0")
	on.Kubectl(t, "wait", "hpa/llm", "-n", ns, "--for=condition=ScalingActive=false", "--timeout=1m")
	labelled := body(strings.TrimPrefix(scaled("waiting")["llm"], body("")["llm"]) + "\nlabels = { a = \"b\" }")
	computes.Change(t, labelled)
	if got := number(); got == "0" || computes.Attribute("llm", "ready") != true {
		t.Errorf("%s replicas and ready %v after an apply", got, computes.Attribute("llm", "ready"))
	}
	becomes("2")
	computes.Change(t, scaled("waiting"))

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

// The kinds with a scale, and the metrics, of which each one occurs.
func TestAccAutoscalerScalesEveryKindByEveryMetric(t *testing.T) {
	t.Parallel()
	on := acctest.OwnCluster(t)
	ns := on.Namespace(t)
	metrics := acctest.ServeMetrics(t, on, ns)
	computes := on.Resources(t, "kt_compute", ns, "")
	bodies, objects := map[string]string{}, []string{}
	for _, c := range []struct{ kind, metric string }{
		{"Deployment", `resource = { name = "cpu", target = { average_utilization = 50 } }`},
		{"StatefulSet", `resource = { name = "cpu", target = { average_value = "500m" } }`},
		{"ReplicaSet", `pods = { metric = { name = "waiting" }, target = { average_value = "500" } }`},
		{"Deployment", `object = { metric = { name = "requests" }, target = { value = "500" }
		  described_object = { api_version = "v1", kind = "Service", name = "metrics" } }`},
		{"StatefulSet", `external = { metric = { name = "length" }, target = { average_value = "500" } }`},
	} {
		name := fmt.Sprintf("scaled-%d", len(bodies))
		objects = append(objects, strings.ToLower(c.kind)+"/"+name)
		bodies[name] = fmt.Sprintf("name = %q\ncpus = 1\n%s"+`autoscale = {
		  scaler = "hpa", min_scale = 1, max_scale = 3, metrics = [{ %s }]
		  behavior = { scale_down = { stabilization_window_seconds = 0 } }
		}`, name, acctest.Manifest("apiVersion: apps/v1\nkind: "+c.kind), c.metric)
	}
	become := func(want string) {
		t.Helper()
		acctest.WaitUntil(t, fmt.Sprintf("%q have %s replicas", objects, want), func() bool {
			numbers := on.Kubectl(t, append([]string{"get", "-n", ns, "-o", "jsonpath={.items[*].spec.replicas}"},
				objects...)...)
			return numbers == strings.TrimSpace(strings.Repeat(want+" ", len(objects)))
		})
	}
	computes.Change(t, bodies)
	metrics.Value.Store(2000)
	become("3")
	computes.ExpectNoChange(t, bodies)
	metrics.Value.Store(0)
	become("1")
	computes.ExpectNoChange(t, bodies)
	computes.Destroy(t)
}

func TestAccAutoscalerWithoutItsMetricIsExplained(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
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

func TestAccUpdateThatRemovesTheRequestOfAUtilizationWarnsOnce(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	for _, test := range []struct {
		attributes string
		warnings   int
	}{{"cpus = 1", 0}, {"", 1}, {`labels = { a = "b" }`, 0}} {
		cli.Write(t, cluster.Config(ns, acctest.BareCompute(test.attributes+`
		on_not_ready = "ignore"
		autoscale = {
		  scaler = "hpa", max_scale = 2
		  metrics = [{ resource = { name = "cpu", target = { average_utilization = 50 } } }]
		}`)))
		out := cli.MustRun(t, "plan", "-out=saved")
		if n := strings.Count(out, "Utilization without a request"); n != test.warnings {
			t.Errorf("%q: %d warnings, want %d:\n%s", test.attributes, n, test.warnings, out)
		}
		cli.MustRun(t, "apply", "saved")
	}
	cluster.Kubectl(t, "delete", "deployment", "trainer", "-n", ns) // leaves the autoscaler
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve"), "Utilization without a request", "1 changed")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// KEDA does not run here; the ecosystem tests run it.
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

	// An apply deletes the old autoscaler first, so the plan must find what the new one cannot replace.
	hpa := map[string]string{"llm": `name = "llm"
	  on_not_ready = "ignore"
	  command = ["serve"]
	  autoscale = { scaler = "hpa", max_scale = 4, metrics = [{ external = { metric = { name = "waiting" }
	    target = { average_value = "10" } } }] }`}
	refused := func(change map[string]string) {
		t.Helper()
		if _, failed := computes.TryPlan(t, change); failed["llm"] == nil ||
			!strings.Contains(failed["llm"].Error(), "was not created by this provider") {
			t.Errorf("the plan that needs the name of another autoscaler: %v", failed)
		}
	}
	on.Kubectl(t, "autoscale", "deployment", "llm", "--max=2", "-n", ns)
	refused(hpa)
	on.Kubectl(t, "delete", "hpa/llm", "-n", ns)
	computes.Change(t, hpa)
	on.Apply(t, "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: llm}\n"+
		"spec: {scaleTargetRef: {name: other}, triggers: [{type: cron, metadata: {}}]}", "-n", ns)
	refused(second)
	on.Kubectl(t, "delete", "scaledobject/llm", "-n", ns)
	computes.Change(t, second)
	computes.Destroy(t)
	if left := on.Kubectl(t, "get", "deployments,scaledobjects", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}
