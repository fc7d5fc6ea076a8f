package datasources_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/echoprovider"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	kubeconfig "github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/portforward"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// greeter starts an HTTP server in this process.
func greeter(t *testing.T) (port int) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().(*net.TCPAddr).Port
}

// startWeb creates the pod web-0 on a node, and the Service web in front of it.
func startWeb(t *testing.T, ns string) *kubelet {
	t.Helper()
	node := startKubelet(t, cluster, ns)
	node.run(t, ns, "web-0", "web")
	node.expose(t, ns, "web", "http", 80, greeter(t))
	return node
}

// expectGreeting checks the response that a provisioner wrote to the file answer.
func expectGreeting(t *testing.T, cli *acctest.CLI) {
	t.Helper()
	answer, err := os.ReadFile(filepath.Join(cli.Dir, "answer"))
	if err != nil || !bytes.HasSuffix(answer, []byte("\r\n\r\nhello")) {
		t.Errorf("the port-forward returned %q, %v", answer, err)
	}
}

func TestAccPortForwardIsOpenDuringTheRunAndClosedAfterwards(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	startWeb(t, ns)
	cli := acctest.NewCLI(t)
	cli.Write(t, cluster.Config(ns, `
ephemeral "kt_port_forward" "web" {
  service = "web"
  port    = 80
}

resource "terraform_data" "call" {
  provisioner "local-exec" {
    interpreter = ["bash", "-c"]
    command     = <<-EOT
      echo "$HOST:$PORT" > address
      exec 3<>"/dev/tcp/$HOST/$PORT"
      printf 'GET / HTTP/1.0\r\n\r\n' >&3
      cat <&3 > answer
    EOT
    environment = {
      HOST = ephemeral.kt_port_forward.web.host
      PORT = ephemeral.kt_port_forward.web.local_port
    }
  }
}`))
	cli.MustRun(t, "apply", "-auto-approve")
	expectGreeting(t, cli)
	address, err := os.ReadFile(filepath.Join(cli.Dir, "address"))
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", strings.TrimSpace(string(address))); err == nil {
		_ = conn.Close()
		t.Errorf("%s is open after the run", address)
	}
	state, err := os.ReadFile(cli.StateFile())
	if err != nil || bytes.Contains(state, bytes.TrimSpace(address)) {
		t.Errorf("the state contains the address, or cannot be read: %v", err)
	}
}

func TestAccPortForwardReturnsAnAddress(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	node := startWeb(t, ns)
	node.expose(t, ns, "idle", "http", 80, 1)
	port := regexp.MustCompile(`^127\.0\.0\.1:\d+$`)
	for name, target := range map[string]string{
		"of a compute":                       `name = "web"`,
		"of a compute by ID":                 fmt.Sprintf("id = %q", ns+"/web"),
		"of a Service":                       `service = "web"`,
		"of a compute without a Service":     "name = \"web-0\"\nport = 8080",
		"of a pod":                           "pod  = \"web-0\"\nport = 8080",
		"without a pod, if none is required": "service  = \"idle\"\nrequired = false",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			factories := acctest.Factories(t)
			factories["echo"] = echoprovider.NewProviderServer()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories,
				TerraformVersionChecks: []tfversion.TerraformVersionCheck{tfversion.SkipBelow(
					tfversion.Version1_10_0)},
				Steps: []resource.TestStep{{
					Config: cluster.Config(ns, fmt.Sprintf(`
ephemeral "kt_port_forward" "it" {
  %s
}

provider "echo" {
  data = ephemeral.kt_port_forward.it
}

resource "echo" "it" {}`, target)),
					ConfigStateChecks: []statecheck.StateCheck{
						statecheck.ExpectKnownValue("echo.it", tfjsonpath.New("data").AtMapKey("address"),
							knownvalue.StringRegexp(port)),
						statecheck.ExpectKnownValue("echo.it", tfjsonpath.New("data").AtMapKey("host"),
							knownvalue.StringExact("127.0.0.1")),
						statecheck.ExpectKnownValue("echo.it", tfjsonpath.New("data").AtMapKey("namespace"),
							knownvalue.StringExact(ns)),
					},
				}},
			})
		})
	}
}

func TestAccPortForwardFailureIsExplained(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	node := startWeb(t, ns)
	node.expose(t, ns, "idle", "http", 80, 1)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = busy.Close() })
	for name, test := range map[string]struct{ target, want string }{
		"no pod":                 {`name = "idle"`, `no pod of namespace\s+\S+\s+has\s+the\s+labels\s+app=idle`},
		"no compute":             {`name = "gone"`, `does not exist`},
		"no compute with the ID": {fmt.Sprintf("id = %q", ns+"/gone"), `does not exist`},
		"no Service":             {`service = "gone"`, `does not exist`},
		"a local port in use": {fmt.Sprintf("name = \"web\"\nlocal_port = %d", busy.Addr().(*net.TCPAddr).Port),
			`Cannot open the local port`},
		"two targets":         {"name = \"web\"\npod = \"web-0\"", `Invalid Attribute Combination`},
		"an ID and a Service": {"id = \"ml/web\"\nservice = \"web\"", `Invalid Attribute Combination`},
		"an invalid port":     {"name = \"web\"\nport = 0", `between 1 and 65535`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Factories(t),
				TerraformVersionChecks: []tfversion.TerraformVersionCheck{tfversion.SkipBelow(
					tfversion.Version1_10_0)},
				Steps: []resource.TestStep{{
					Config: cluster.Config(ns,
						fmt.Sprintf("ephemeral \"kt_port_forward\" \"it\" {\n%s\n}\n", test.target)),
					ExpectError: regexp.MustCompile(test.want),
				}},
			})
		})
	}
}

// Kubetorch registers the URL of a Knative Service, and a user may set any address.
func TestAccPortForwardToARegisteredAddressIsRefused(t *testing.T) {
	t.Parallel()
	ns := withCRDs.Namespace(t)
	withCRDs.Apply(t, "apiVersion: kubetorch.com/v1alpha1\nkind: KubetorchWorkload\nmetadata: {name: chat}\n"+
		"spec: {serviceConfig: {url: http://chat.ml.svc.cluster.local}}\n", "-n", ns)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_10_0)},
		Steps: []resource.TestStep{{
			Config: withCRDs.Config(ns, "ephemeral \"kt_port_forward\" \"it\" {\nname = \"chat\"\n}\n"),
			ExpectError: regexp.MustCompile(
				`(?s)No tunnel to this compute.*http://chat\.ml\.svc\.cluster\.local.*set\s+` + "`pod`"),
		}},
	})
}

func TestAccPortForwardReachesAReplacedPod(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	node := startWeb(t, ns)
	from := kube.NewCluster(t.Context(), kubeconfig.Config{ConfigPaths: []string{cluster.Kubeconfig()}})
	backend, err := portforward.ServiceBackend(t.Context(), from, ns, "web", 80)
	if err != nil {
		t.Fatal(err)
	}
	forward, err := portforward.Listen(t.Context(), from, backend, 0, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	defer forward.Close()
	call := func() {
		t.Helper()
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/", forward.Port()))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "hello" {
			t.Fatalf("got %q, %v", text, err)
		}
	}
	call()
	cluster.Kubectl(t, "delete", "pod", "web-0", "-n", ns)
	replaced := make(chan struct{})
	go func() { // the call waits for the new pod
		defer close(replaced)
		node.run(t, ns, "web-1", "web")
	}()
	call()
	<-replaced
	if got := fmt.Sprint(node.forwarded()); got != "[web-0 web-1]" {
		t.Errorf("calls went to %s", got)
	}
}

func TestAccPortForwardIsOpenedAfterTheCreationOfItsTarget(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	node := startKubelet(t, cluster, ns)
	node.run(t, ns, "web-0", "web")
	cli := acctest.NewCLI(t)
	if err := os.WriteFile(filepath.Join(cli.Dir, "late.yaml"),
		[]byte(service(ns, "late", "web", "http", 80, greeter(t))), 0o600); err != nil {
		t.Fatal(err)
	}
	cli.Write(t, cluster.Config(ns, fmt.Sprintf(`
resource "terraform_data" "late" {
  provisioner "local-exec" {
    command = "%s/kubectl apply -f late.yaml"
  }
}

ephemeral "kt_port_forward" "late" {
  name = "late"
  uid  = terraform_data.late.id
}

resource "terraform_data" "call" {
  provisioner "local-exec" {
    interpreter = ["bash", "-c"]
    command     = "exec 3<>/dev/tcp/$HOST/$PORT; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3 > answer"
    environment = {
      HOST = ephemeral.kt_port_forward.late.host
      PORT = ephemeral.kt_port_forward.late.local_port
    }
  }
}`, cluster.KubectlDir(t, ns))))
	cli.MustRun(t, "apply", "-auto-approve")
	expectGreeting(t, cli)
}
