package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// onRealNode are attributes of a compute that runs on the node with real pods.
const onRealNode = `
  node_selector = { "kt.dev/real" = "true" }
  tolerations   = [{ key = "kt.dev/real", operator = "Exists" }]
`

// terraform returns a working directory for the shared cluster, and a namespace for the test. Without KT_E2E, it skips
// the test.
func terraform(t *testing.T) (cli *acctest.CLI, namespace string) {
	t.Helper()
	if cluster == nil {
		t.Skip("KT_E2E is not set")
	}
	cli, namespace = acctest.NewCLI(t), cluster.Namespace(t)
	t.Cleanup(func() { // before the namespace is deleted
		if out, err := cli.Run(t, "destroy", "-auto-approve"); err != nil && !t.Failed() {
			t.Errorf("destroy: %v\n%s", err, out)
		}
	})
	cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
	cli.Setenv("KT_NAMESPACE", namespace)
	return cli, namespace
}

// expectOutputs compares outputs of the last apply, as text.
func expectOutputs(t *testing.T, cli *acctest.CLI, want map[string]string) {
	t.Helper()
	var got map[string]struct{ Value any }
	text := cli.MustRun(t, "output", "-json")
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for name, value := range want {
		if text := fmt.Sprint(got[name].Value); text != value {
			t.Errorf("output %s is %s; want %s", name, text, value)
		}
	}
}

func pods(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	return cluster.Kubectl(t, append([]string{"get", "pods", "-n", namespace, "-o", "name"}, args...)...)
}

// tensorServer is a tensor server that is probed, whose metrics are read, and that is called through a port-forward.
const tensorServer = `
provider "kt" {}

variable "suspend" { default = false }
variable "least" { default = 0 }

resource "kt_compute" "server" {
  name           = "server"
  runtime        = "skytorch"
  image          = %q
  args           = ["-memory-limit", "256Mi"]
  memory         = "512Mi"
  suspend        = var.suspend
  launch_timeout = "3m"
}

data "kt_endpoint" "server" {
  id    = kt_compute.server.id
  probe = { method = "tensor", round_trip_bytes = 64 * 1024 * 1024, timeout = "2m" }

  depends_on = [kt_compute.server]
  lifecycle {
    postcondition {
      condition     = try(self.throughput_mib_s >= var.least, var.suspend)
      error_message = "The server is too slow."
    }
  }
}

data "kt_metrics" "server" {
  count        = var.suspend ? 0 : 1
  id           = kt_compute.server.id
  metric_names = ["tensors.limit", "tensors.received"]

  depends_on = [data.kt_endpoint.server]
}

ephemeral "kt_port_forward" "server" {
  count    = var.suspend ? 0 : 1
  name     = kt_compute.server.name
  uid      = kt_compute.server.uid
  required = false # the port-forward is also opened while a resumption is planned
}

resource "terraform_data" "call" {
  count            = var.suspend ? 0 : 1
  triggers_replace = kt_compute.server.uid
  provisioner "local-exec" {
    command = %q
    environment = {
      KT_E2E_CALL   = ephemeral.kt_port_forward.server[0].address
      KT_E2E_RESULT = %q
    }
  }
}

output "status" { value = data.kt_endpoint.server.status }
output "fast" { value = data.kt_endpoint.server.throughput_mib_s != null }
output "nodes" { value = join(",", data.kt_endpoint.server.pods[*].node) }

# The server counts more bytes than the data of the tensor.
locals { metrics = { for m in flatten(data.kt_metrics.server[*].metrics) : m.name => m.value } }
output "limit" { value = try(local.metrics["tensors.limit"], null) }
output "received" { value = try(local.metrics["tensors.received"] >= 64 * 1024 * 1024, false) }
`

func TestE2ETensorServerServesSuspendsAndResumes(t *testing.T) {
	t.Parallel()
	cli, ns := terraform(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "result.json")
	cli.Write(t, fmt.Sprintf(tensorServer, serverImage, self, file))
	cli.MustRun(t, "apply", "-auto-approve")
	serves := map[string]string{"status": "SERVING", "fast": "true", "nodes": "real-0", "limit": "2.68435456e+08",
		"received": "true"}
	expectOutputs(t, cli, serves)
	if got := resultIn(t, file); got.Status != probe.Serving || got.Bytes != 1<<20 {
		t.Errorf("through the port-forward: %+v", got)
	}
	if out := cli.MustRun(t, "plan"); !strings.Contains(out, "No changes.") {
		t.Errorf("the second plan is not empty:\n%s", out)
	}

	if out, err := cli.Run(t, "apply", "-auto-approve", "-var", "least=1e12"); err == nil ||
		!strings.Contains(out, "The server is too slow.") {
		t.Errorf("the run did not fail on the postcondition for the throughput: %v\n%s", err, out)
	}

	cli.MustRun(t, "apply", "-auto-approve", "-var", "suspend=true")
	expectOutputs(t, cli,
		map[string]string{"status": "UNREACHABLE", "fast": "false", "limit": "<nil>", "received": "false"})
	// Pods that have terminated may still exist for a moment.
	if left := pods(t, ns, "--field-selector=status.phase=Running"); left != "" {
		t.Errorf("running after the suspension: %s", left)
	}

	cli.MustRun(t, "apply", "-auto-approve")
	expectOutputs(t, cli, serves)

	cli.MustRun(t, "destroy", "-auto-approve")
	if left := pods(t, ns); left != "" {
		t.Errorf("left after the destroy: %s", left)
	}
}

func TestE2EDeploymentIsReadyAfterItsReadinessProbe(t *testing.T) {
	t.Parallel()
	cli, ns := terraform(t)
	cli.Write(t, deployment(serverImage, `["-memory-limit", "256Mi"]`, "256Mi"))
	cli.MustRun(t, "apply", "-auto-approve")
	expectOutputs(t, cli, map[string]string{"ready": "true"})
	if got := cluster.Kubectl(t, "get", "pods", "-n", ns, "-o",
		"jsonpath={.items[*].status.containerStatuses[*].ready}"); got != "true" {
		t.Errorf("containers ready: %s", got)
	}
	if out := cli.MustRun(t, "plan"); !strings.Contains(out, "No changes.") {
		t.Errorf("the second plan is not empty:\n%s", out)
	}
}

func TestE2EFailureIsExplained(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string
		want   []string
	}{
		"a SkyTorch server with invalid arguments": {
			`
provider "kt" {}
resource "kt_compute" "server" {
  name           = "server"
  runtime        = "skytorch"
  image          = "` + "%s" + `"
  args           = ["-memory-limit", "lots"]
  launch_timeout = "5m"
}
`,
			[]string{"exit code 1", `invalid value "lots" for flag -memory-limit`, "kubectl"},
		},
		"a Deployment with invalid arguments": {
			deployment("%s", `["-port", "many"]`, "256Mi"),
			[]string{"exit code 1", `invalid value "many" for flag -port`, "Back-off restarting failed container"},
		},
		"a Deployment that exceeds its memory limit": {
			deployment(allocateImage, `[]`, "48Mi"),
			[]string{"out of memory", "allocated 40 MiB"},
		},
		"a Deployment with a missing image": {
			deployment("localhost/missing:1", `[]`, "48Mi"),
			[]string{"localhost/missing:1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli, _ := terraform(t)
			cli.Write(t, strings.ReplaceAll(c.config, "%s", serverImage))
			out, err := cli.Run(t, "apply", "-auto-approve")
			if err == nil {
				t.Fatalf("the apply succeeded:\n%s", out)
			}
			for _, want := range c.want {
				if !strings.Contains(unwrapped(out), want) {
					t.Errorf("the error does not contain %q:\n%s", want, out)
				}
			}
		})
	}
}

// deployment returns a compute with a manifest. The container serves gRPC, which the default probes do not support.
func deployment(image, args, memory string) string {
	return `
provider "kt" {}
resource "kt_compute" "server" {
  name           = "server"
  launch_timeout = "5m"
` + onRealNode + fmt.Sprintf(`
  manifest = yamlencode({
    apiVersion = "apps/v1"
    kind       = "Deployment"
    spec = { template = { spec = { containers = [{
      name           = "kubetorch"
      image          = %q
      command        = ["/tensor-server"]
      args           = %s
      resources      = { limits = { memory = %q } }
      readinessProbe = { grpc = { port = 50051 }, periodSeconds = 1 }
    }] } } }
  })
}
output "ready" { value = kt_compute.server.ready }
`, image, args, memory)
}

// unwrapped returns a diagnostic without the frame and the line breaks of the CLI.
func unwrapped(text string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", "", "╷", "", "╵", "").Replace(text)), " ")
}
