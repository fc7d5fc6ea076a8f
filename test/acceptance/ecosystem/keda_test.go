package ecosystem_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// queue is what the computes of these tests scale by: a server whose requests wait. KEDA reads it as metrics-api.
type queue struct {
	waiting atomic.Int64
	url     string
}

func newQueue(t *testing.T) *queue {
	t.Helper()
	q := &queue{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"waiting": %d}`, q.waiting.Load())
	}))
	t.Cleanup(server.Close)
	q.url = server.URL
	return q
}

// trigger is the trigger of a pod for ten waiting requests.
func (q *queue) trigger() string {
	return fmt.Sprintf(`{ type = "metrics-api"
	  metadata = { url = %q, valueLocation = "waiting", targetValue = "10" } }`, q.url)
}

// served returns a compute named llm with an autoscaler of KEDA, or without one.
func served(attributes string) map[string]string {
	return map[string]string{"llm": "name = \"llm\"\ncommand = [\"serve\"]\nport = 8000\n" + attributes}
}

// scaledByKEDA polls every second, and removes the last pod after another.
func scaledByKEDA(trigger, more string) map[string]string {
	return served(fmt.Sprintf(`autoscale = {
	  scaler   = "keda", max_scale = 4, polling_interval = "1s", cooldown_period = "1s"
	  triggers = [%s]
	  %s
	}`, trigger, more))
}

// scaledTo waits until KEDA, or the HorizontalPodAutoscaler that it creates, has set a number of pods.
func scaledTo(t *testing.T, ns, want string) {
	t.Helper()
	acctest.WaitUntil(t, "the Deployment has "+want+" replicas", func() bool { return numberOf(t, ns) == want })
}

func numberOf(t *testing.T, ns string) string {
	t.Helper()
	return keda.Kubectl(t, "get", "deployment/llm", "-n", ns, "-o", "jsonpath={.spec.replicas}")
}

func expectNothingLeft(t *testing.T, ns string) {
	t.Helper()
	if left := keda.Kubectl(t, "get", "deployments,scaledobjects,hpa", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

func TestEcoKEDAScalesFromZeroAndBack(t *testing.T) {
	t.Parallel()
	ns, q := keda.Namespace(t), newQueue(t)
	computes := keda.Resources(t, "kt_compute", ns, "")
	body := scaledByKEDA(q.trigger(), "")
	computes.Change(t, body)
	scaledTo(t, ns, "0")
	computes.ExpectNoChange(t, body)

	q.waiting.Store(5)
	scaledTo(t, ns, "1")
	computes.ExpectNoChange(t, body)
	q.waiting.Store(35)
	scaledTo(t, ns, "4")
	computes.ExpectNoChange(t, body)
	q.waiting.Store(0)
	scaledTo(t, ns, "0")
	computes.ExpectNoChange(t, body)

	computes.Import(t, ns, []string{"llm"})
	computes.ExpectNoChange(t, body)
	computes.Destroy(t)
	expectNothingLeft(t, ns)
}

func TestEcoKEDALeavesTheWorkloadFree(t *testing.T) {
	t.Parallel()
	ns, q := keda.Namespace(t), newQueue(t)
	q.waiting.Store(25)
	computes := keda.Resources(t, "kt_compute", ns, "")
	computes.Change(t, served("replicas = 2"))
	computes.Change(t, scaledByKEDA(q.trigger(), "min_scale = 1"))
	scaledTo(t, ns, "3")
	computes.Change(t, served("replicas = 2"))
	left := keda.Kubectl(t, "get", "scaledobjects,hpa", "-n", ns, "-o", "name")
	if number := numberOf(t, ns); left != "" || number != "2" {
		t.Errorf("%s replicas, and left behind: %s", number, left)
	}
	computes.ExpectNoChange(t, served("replicas = 2"))
	computes.Destroy(t)
	expectNothingLeft(t, ns)
}

func TestEcoKEDAReplacesAnAutoscalerAndIsReplaced(t *testing.T) {
	t.Parallel()
	ns, q := keda.Namespace(t), newQueue(t)
	q.waiting.Store(15)
	computes := keda.Resources(t, "kt_compute", ns, "")
	hpa := served(`autoscale = {
	  scaler = "hpa", min_scale = 1, max_scale = 4
	  metrics = [{ external = { metric = { name = "missing" }, target = { average_value = "10" } } }]
	}`)
	computes.Change(t, hpa)
	computes.Change(t, scaledByKEDA(q.trigger(), "min_scale = 1"))
	scaledTo(t, ns, "2")
	computes.Change(t, hpa)
	if got := keda.Kubectl(t, "get", "scaledobjects,hpa", "-n", ns, "-o", "name"); got !=
		"horizontalpodautoscaler.autoscaling/llm" {
		t.Errorf("autoscalers: %s", got)
	}
	computes.Destroy(t)
	expectNothingLeft(t, ns)
}

func TestEcoKEDAIsPaused(t *testing.T) {
	t.Parallel()
	ns, q := keda.Namespace(t), newQueue(t)
	q.waiting.Store(5)
	computes := keda.Resources(t, "kt_compute", ns, "")
	body := scaledByKEDA(q.trigger(), "min_scale = 1")
	computes.Change(t, body)
	pause := func(value string) {
		keda.Kubectl(t, "annotate", "scaledobject/llm", "-n", ns, "--overwrite", "autoscaling.keda.sh/paused"+value)
	}
	pause("=true")
	keda.Await(t, ns, "scaledobject/llm", "condition=Paused")
	acctest.WaitUntil(t, "KEDA has deleted the autoscaler", func() bool {
		return keda.Kubectl(t, "get", "hpa", "-n", ns, "-o", "name") == ""
	})
	computes.ExpectNoChange(t, body)
	computes.Change(t, scaledByKEDA(q.trigger(), "min_scale = 2"))
	if got := numberOf(t, ns); got != "1" {
		t.Errorf("%s replicas while paused", got)
	}
	pause("-")
	scaledTo(t, ns, "2")
	computes.ExpectNoChange(t, scaledByKEDA(q.trigger(), "min_scale = 2"))
	computes.Destroy(t)
	expectNothingLeft(t, ns)
}

func TestEcoKEDATriggerThatDoesNotWorkIsExplained(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ trigger, says string }{
		"an unknown type": {`{ type = "rabbit", metadata = { queue = "a" } }`, "no scaler found for type: rabbit"},
		"a missing value": {`{ type = "metrics-api", metadata = { url = "http://127.0.0.1:1/" } }`, "valueLocation"},
		"a source that is down": {`{ type = "metrics-api", metadata = { url = "http://127.0.0.1:1/", ` +
			`valueLocation = "waiting", targetValue = "10" } }`, "connection refused"},
		"an authentication that is missing": {`{ type = "metrics-api", metadata = { url = "http://127.0.0.1:1/", ` +
			`valueLocation = "waiting", targetValue = "10" }, authentication_ref = { name = "nobody" } }`, "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := keda.Namespace(t)
			cli := acctest.NewCLI(t)
			cli.Write(t, keda.Config(ns, acctest.BareCompute(fmt.Sprintf(`autoscale = {
			  scaler = "keda", max_scale = 2, polling_interval = "1s", triggers = [%s]
			}`, test.trigger))))
			out := cli.MustRun(t, "apply", "-auto-approve", "-no-color")
			for _, want := range []string{"is not ready: scaling inactive", test.says, "autoscale.triggers"} {
				if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
					t.Errorf("the warning does not contain %q:\n%s", want, out)
				}
			}
			if out := cli.MustRun(t, "plan", "-no-color"); !strings.Contains(out, "No changes") {
				t.Errorf("the second plan is not empty:\n%s", out)
			}
			cli.MustRun(t, "destroy", "-auto-approve")
			expectNothingLeft(t, ns)
		})
	}
}
