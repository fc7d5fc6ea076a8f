package datasources_test

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/server"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// tensorServer starts the reference server in this process.
func tensorServer(t *testing.T) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- server.New(server.Options{}).Serve(ctx, listener, time.Second) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().(*net.TCPAddr).Port
}

// pool creates a Service of a tensor server with one ready pod.
func pool(t *testing.T, ns string) *kubelet {
	t.Helper()
	node := startKubelet(t, cluster, ns)
	node.run(t, ns, "pool-0", "pool")
	node.expose(t, ns, "pool", "grpc", 50051, tensorServer(t))
	return node
}

func expectValue(address, attribute string, check knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(address, tfjsonpath.New(attribute), check)
}

func above(limit float64) knownvalue.Check {
	return knownvalue.Float64Func(func(v float64) error {
		if v <= limit {
			return fmt.Errorf("%g, want more than %g", v, limit)
		}
		return nil
	})
}

func TestAccEndpointOfATensorServerReturnsTensorsUnchanged(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	pool(t, ns)
	const it = "data.kt_endpoint.pool"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config: cluster.Config(ns, `
data "kt_endpoint" "pool" {
  name = "pool"

  probe = {
    method           = "tensor"
    round_trip_bytes = 5000001
    timeout          = "60s"
    required         = true
  }

  lifecycle {
    postcondition {
      condition     = self.throughput_mib_s > 0.001
      error_message = "The pool is slow."
    }
  }
}

data "kt_metrics" "pool" {
  id           = data.kt_endpoint.pool.id
  metric_names = [data.kt_metrics.all.metrics[0].name]
  timeout      = "2m"
}

data "kt_metrics" "all" {
  name    = "pool"
  timeout = "2m"
}`),
				ConfigStateChecks: []statecheck.StateCheck{
					expectValue(it, "id", knownvalue.StringExact(ns+"/pool")),
					expectValue(it, "status", knownvalue.StringExact("SERVING")),
					expectValue(it, "detail", knownvalue.Null()),
					expectValue(it, "latency_ms", above(0)),
					expectValue(it, "throughput_mib_s", above(0)),
					expectValue(it, "protocol", knownvalue.StringExact("grpc")),
					expectValue(it, "url", knownvalue.Null()),
					expectValue(it, "grpc_target", knownvalue.StringExact("pool."+ns+".svc.cluster.local:50051")),
					expectValue(it, "port_forward_command",
						knownvalue.StringExact("kubectl -n "+ns+" port-forward service/pool 50051:50051")),
					expectValue(it, "pods",
						knownvalue.ListExact([]knownvalue.Check{knownvalue.ObjectExact(map[string]knownvalue.Check{
							"name": knownvalue.StringExact("pool-0"), "ip": knownvalue.StringExact("10.80.255.1"),
							"node": knownvalue.StringExact("kubelet-" + ns), "ready": knownvalue.Bool(true),
						})})),
					expectValue("data.kt_metrics.pool", "metrics", knownvalue.ListSizeExact(1)),
				},
			},
			{
				Config: cluster.Config(ns, `
data "kt_endpoint" "pool" {
  name  = "pool"
  probe = { method = "tensor" }

  lifecycle {
    postcondition {
      condition     = self.throughput_mib_s > 1e9
      error_message = "The pool is slow."
    }
  }
}`),
				ExpectError: regexp.MustCompile(`The pool is slow`),
			},
			{
				Config: cluster.Config(ns,
					"data \"kt_endpoint\" \"pool\" {\n name = \"pool\"\n probe = { method = \"http\" }\n}"),
				ExpectError: regexp.MustCompile(`pool\s+uses\s+gRPC,\s+which\s+the\s+method\s+.http.\s+cannot\s+probe`),
			},
		},
	})
}

func TestAccProbeRequiresAnAddress(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	startKubelet(t, cluster, ns).run(t, ns, "batch", "batch")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{{
			Config:      cluster.Config(ns, "data \"kt_endpoint\" \"batch\" {\n name = \"batch\"\n probe = {}\n}"),
			ExpectError: regexp.MustCompile(`(?s)No endpoint to probe.*neither\s+a\s+Service\s+nor`),
		}},
	})
}

func TestAccUnreachableEndpointIsAnErrorOnlyIfRequired(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	node := startKubelet(t, cluster, ns)
	node.expose(t, ns, "no-pods", "grpc", 50051, 50051)
	node.run(t, ns, "closed-port-0", "closed-port")
	node.expose(t, ns, "closed-port", "http", 80, 1) // no process listens on this port
	node.run(t, ns, "silent-0", "silent")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections without responding
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	node.expose(t, ns, "silent", "grpc", 50051, silent.Addr().(*net.TCPAddr).Port)
	// The timeout is long enough for a connection on a busy machine. Without a connection, the status is UNREACHABLE.
	probed := func(name, more string) string {
		return cluster.Config(ns,
			fmt.Sprintf("data \"kt_endpoint\" \"it\" {\n name = %q\n probe = { timeout = \"15s\", %s }\n}", name, more))
	}
	for name, test := range map[string]struct{ status, detail string }{
		"no-pods":     {"UNREACHABLE", `no pod of namespace \S+ has the labels app=no-pods`},
		"closed-port": {"UNREACHABLE", `connection refused`},
		"silent":      {"TIMEOUT", `.`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Factories(t),
				Steps: []resource.TestStep{
					{
						Config: probed(name, ""),
						ConfigStateChecks: []statecheck.StateCheck{
							expectValue("data.kt_endpoint.it", "status", knownvalue.StringExact(test.status)),
							expectValue("data.kt_endpoint.it", "detail",
								knownvalue.StringRegexp(regexp.MustCompile(test.detail))),
							expectValue("data.kt_endpoint.it", "latency_ms", knownvalue.Null()),
						},
					},
					{Config: probed(name, "required = true"),
						ExpectError: regexp.MustCompile(`is not serving: ` + test.status)},
				},
			})
		})
	}
}

func TestAccEndpointProbeReportsTheMissingPermission(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	pool(t, ns)
	reader := "provider \"kt\" {\n" + cluster.TokenAttributes(t, ns, cluster.ServiceAccount(t, ns, "reader", "view")) +
		"}\n"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{{
			Config:      reader + "data \"kt_endpoint\" \"pool\" {\n name = \"pool\"\n probe = {}\n}",
			ExpectError: regexp.MustCompile(`cannot\s+(create|get)\s+resource\s+"pods/portforward"`),
		}},
	})
}

func TestAccEndpointOfAComputeIsReadAfterItsCreation(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	const it = "data.kt_endpoint.trainer"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             cluster.NothingLeft(t, ns),
		Steps: []resource.TestStep{
			{
				Config:      cluster.Config(ns, "data \"kt_endpoint\" \"trainer\" {\n name = \"trainer\"\n}"),
				ExpectError: regexp.MustCompile(`Compute ` + ns + `/trainer does not exist`),
			},
			{
				Config: cluster.Config(ns, acctest.Compute("replicas = 2")+`
data "kt_endpoint" "trainer" {
  id         = kt_compute.trainer.id
  depends_on = [kt_compute.trainer]
}

data "kt_compute" "trainer" {
  id         = kt_compute.trainer.id
  depends_on = [kt_compute.trainer]
}
`),
				ConfigStateChecks: []statecheck.StateCheck{
					expectValue(it, "host", knownvalue.StringExact("trainer."+ns+".svc.cluster.local")),
					expectValue(it, "port", knownvalue.Int64Exact(80)),
					expectValue(it, "protocol", knownvalue.StringExact("http")),
					expectValue(it, "url", knownvalue.StringExact("http://trainer."+ns+".svc.cluster.local:80")),
					expectValue(it, "grpc_target", knownvalue.Null()),
					expectValue(it, "headless_host", knownvalue.Null()),
					expectValue(it, "pods", knownvalue.ListSizeExact(2)),
					expectValue(it, "status", knownvalue.Null()),
					expectValue(it, "metadata", knownvalue.MapExact(nil)),
					expectValue(it, "port_forward_command",
						knownvalue.StringExact("kubectl -n "+ns+" port-forward service/trainer 8080:80")),
					expectValue("data.kt_compute.trainer", "mode", knownvalue.StringExact("deployment")),
					expectValue("data.kt_compute.trainer", "ready", knownvalue.Bool(true)),
					expectValue("data.kt_compute.trainer", "replicas", knownvalue.Int64Exact(2)),
					expectValue("data.kt_compute.trainer", "image",
						knownvalue.StringExact("ghcr.io/run-house/server:v3")),
					expectValue("data.kt_compute.trainer", "uid", knownvalue.NotNull()),
					expectValue("data.kt_compute.trainer", "conditions",
						knownvalue.ListPartial(map[int]knownvalue.Check{0: knownvalue.NotNull()})),
				},
			},
			{
				// One of the Deployment, two of its ReplicaSet, one of each pod. They are sent asynchronously.
				PreConfig: func() {
					acctest.WaitUntil(t, "5 events", func() bool {
						return len(strings.Fields(cluster.Kubectl(t, "get", "events", "-n", ns, "-o",
							`jsonpath={.items[?(@.reason=="ScalingReplicaSet")].reason} `+
								`{.items[?(@.reason=="SuccessfulCreate")].reason} `+
								`{.items[?(@.reason=="Scheduled")].reason}`))) == 5
					})
				},
				Config: cluster.Config(ns, acctest.Compute("replicas = 2")+`
data "kt_events" "trainer" {
  id      = kt_compute.trainer.id
  reasons = ["ScalingReplicaSet", "SuccessfulCreate", "Scheduled"]
}`),
				ConfigStateChecks: []statecheck.StateCheck{
					expectValue("data.kt_events.trainer", "events", knownvalue.ListSizeExact(5)),
				},
			},
		},
	})
}

func TestAccEventsOfSelectedPodsAreListed(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: mine, labels: {app: mine}}
spec: {containers: [{name: main, image: "example.com/main:1"}]}`, "-n", ns)
	acctest.WaitUntil(t, "the event of the pod", func() bool {
		return cluster.Kubectl(t, "get", "events", "-n", ns, "-o",
			`jsonpath={.items[?(@.reason=="Scheduled")].involvedObject.name}`) == "mine"
	})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{{
			Config: cluster.Config(ns, acctest.BareCompute(`
  selector     = { app = "mine" }
  on_not_ready = "ignore"`)+`
data "kt_events" "trainer" {
  id      = kt_compute.trainer.id
  reasons = ["Scheduled"]
}`),
			ConfigStateChecks: []statecheck.StateCheck{
				expectValue("data.kt_events.trainer", "events", knownvalue.ListSizeExact(1)),
			},
		}},
	})
}

// The controller of the JobSet marks the pods, which lack Kubetorch's label.
func TestAccEventsOfAJobSetOfAnotherClientAreListed(t *testing.T) {
	t.Parallel()
	ns := withCRDs.Namespace(t)
	withCRDs.Apply(t, `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec: {replicatedJobs: [{name: main, template: {spec: {template: {spec: {restartPolicy: Never, containers: [
  {name: main, image: "example.com/main:1"}]}}}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: train-main-0-0-x, labels: {jobset.sigs.k8s.io/jobset-name: train}}
spec: {containers: [{name: main, image: "example.com/main:1"}]}`, "-n", ns)
	acctest.WaitUntil(t, "the event of the pod", func() bool {
		return withCRDs.Kubectl(t, "get", "events", "-n", ns, "-o",
			`jsonpath={.items[?(@.reason=="Scheduled")].involvedObject.name}`) == "train-main-0-0-x"
	})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{{
			Config: withCRDs.Config(ns, `
data "kt_events" "train" {
  name    = "train"
  reasons = ["Scheduled"]
}`),
			ConfigStateChecks: []statecheck.StateCheck{
				expectValue("data.kt_events.train", "events", knownvalue.ListSizeExact(1)),
			},
		}},
	})
}

// The node accepts no connection before all two hundred have arrived, so the probes
// must run in parallel.
func TestAccTwoHundredEndpointsAreProbedInParallel(t *testing.T) {
	t.Parallel()
	const count = 200
	ns := cluster.Namespace(t)
	node := pool(t, ns)
	var target int
	if _, err := fmt.Sscan(cluster.Kubectl(t, "get", "service", "pool", "-n", ns, "-o",
		"jsonpath={.spec.ports[0].targetPort}"), &target); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for i := range count {
		all.WriteString("---\n" + service(ns, fmt.Sprintf("pool-%d", i), "pool", "grpc", 50051, target))
	}
	cluster.Apply(t, all.String())
	var mu sync.Mutex
	var arrived int
	allArrived := make(chan struct{})
	node.mu.Lock()
	node.gate = func() {
		mu.Lock()
		if arrived++; arrived == count {
			close(allArrived)
		}
		mu.Unlock()
		select {
		case <-allArrived:
		case <-t.Context().Done():
		}
	}
	node.mu.Unlock()
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, fmt.Sprintf(`
data "kt_endpoint" "pool" {
  count = %d
  name  = "pool-${count.index}"
  probe = { timeout = "120s" }
}

output "statuses" {
  value = distinct(data.kt_endpoint.pool[*].status)
}

output "details" {
  value = distinct(data.kt_endpoint.pool[*].detail)
}`, count)))
	out := cli.MustRun(t, "plan", fmt.Sprintf("-parallelism=%d", count))
	if !strings.Contains(strings.Join(strings.Fields(out), " "), `+ statuses = [ + "SERVING", ]`) {
		_, outputs, _ := strings.Cut(out, "Changes to Outputs")
		t.Errorf("not all endpoints are ready:\n%s", outputs)
	}
}
