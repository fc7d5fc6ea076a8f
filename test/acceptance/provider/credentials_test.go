package provider_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	kubeconfig "github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// minimalConfig returns a provider block with the attributes, and a compute without
// optional attributes.
func minimalConfig(attributes string) string {
	return "provider \"kt\" {\n  username = \"alice\"\n" + attributes + "\n}\n" + acctest.Compute("")
}

// attribute returns one line of a provider block.
func attribute(name, value string) string { return fmt.Sprintf("  %s = %q\n", name, value) }

// route is one way to configure access to the cluster: a provider block and its
// environment.
type route struct {
	attributes string
	env        kubeconfig.Env
	// used checks after the test that this route was used, if another one could have
	// been used instead.
	used func(t *testing.T)
}

func TestAccCredentialsReachTheCluster(t *testing.T) {
	t.Parallel()
	for name, newRoute := range map[string]func(t *testing.T, ns string) route{
		"kubeconfig":           throughKubeconfig,
		"KUBECONFIG":           throughVariable,
		"token":                throughToken,
		"client-certificate":   throughCertificate,
		"exec-plugin":          throughPlugin,
		"in-cluster":           throughPod,
		"proxy":                throughProxy,
		"kubeconfig-of-plugin": throughPluginOfKubeconfig,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			r := newRoute(t, ns)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.FactoriesWith(t, r.env),
				Steps: []resource.TestStep{{
					Config: minimalConfig(r.attributes),
					Check:  resource.TestCheckResourceAttr(acctest.Trainer, "id", ns+"/trainer"),
				}},
			})
			if r.used != nil {
				r.used(t)
			}
		})
	}
}

func throughKubeconfig(_ *testing.T, ns string) route {
	return route{attributes: attribute("config_path", cluster.Kubeconfig()) + attribute("namespace", ns)}
}

func throughVariable(_ *testing.T, ns string) route {
	return route{attributes: attribute("namespace", ns),
		env: environment(map[string]string{"KUBECONFIG": cluster.Kubeconfig()})}
}

func throughToken(t *testing.T, ns string) route {
	t.Helper()
	return route{attributes: cluster.TokenAttributes(t, ns, cluster.ServiceAccount(t, ns, "deployer", "admin"))}
}

func throughCertificate(t *testing.T, ns string) route {
	t.Helper()
	config := cluster.RESTConfig(t)
	if len(config.CertData) == 0 {
		t.Skip("the cluster's kubeconfig has no client certificate")
	}
	return route{
		attributes: attribute("host", config.Host) + attribute("cluster_ca_certificate", string(config.CAData)) +
			attribute("client_certificate", string(config.CertData)) + attribute("namespace", ns),
		env: environment(map[string]string{"KUBE_CLIENT_KEY_DATA": string(config.KeyData)}),
	}
}

// credentialPlugin writes a program that prints the token in the variable TOKEN.
func credentialPlugin(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plugin.sh")
	script := `#!/bin/sh
[ "$1" = get-token ] || exit 2
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",' \
  "\"status\": {\"token\": \"$TOKEN\"}}"
`
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func throughPlugin(t *testing.T, ns string) route {
	t.Helper()
	config := cluster.RESTConfig(t)
	return route{attributes: attribute("host", config.Host) +
		attribute("cluster_ca_certificate", string(config.CAData)) +
		attribute("namespace", ns) + fmt.Sprintf(`
  exec = {
    api_version = "client.authentication.k8s.io/v1"
    command     = %q
    args        = ["get-token"]
    env         = { TOKEN = %q }
  }`, credentialPlugin(t), cluster.ServiceAccount(t, ns, "deployer", "admin"))}
}

func throughPluginOfKubeconfig(t *testing.T, ns string) route {
	t.Helper()
	config := cluster.RESTConfig(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ca.crt"), config.CAData, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "config")
	text := fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: dev
contexts: [{name: dev, context: {cluster: dev, user: dev, namespace: %s}}]
clusters: [{name: dev, cluster: {server: %q, certificate-authority: ca.crt}}]
users:
- name: dev
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      interactiveMode: IfAvailable
      command: %s
      args: [get-token]
      env: [{name: TOKEN, value: %s}]
`, ns, config.Host, credentialPlugin(t), cluster.ServiceAccount(t, ns, "deployer", "admin"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return route{attributes: attribute("config_path", file)}
}

func throughPod(t *testing.T, ns string) route {
	t.Helper()
	config := cluster.RESTConfig(t)
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"token": cluster.ServiceAccount(t, ns, "deployer", "admin"), "ca.crt": string(config.CAData), "namespace": ns,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := environment(map[string]string{"KUBERNETES_SERVICE_HOST": server.Hostname(),
		"KUBERNETES_SERVICE_PORT": server.Port()})
	env.InClusterDir = dir
	return route{env: env}
}

func throughProxy(t *testing.T, ns string) route {
	t.Helper()
	proxy, connections := startProxy(t)
	return route{
		attributes: attribute("config_path", cluster.Kubeconfig()) + attribute("namespace", ns) +
			attribute("proxy_url", proxy),
		used: func(t *testing.T) {
			t.Helper()
			if connections.Load() == 0 {
				t.Error("no connection went through the proxy")
			}
		},
	}
}

func environment(vars map[string]string) kubeconfig.Env {
	return kubeconfig.Env{Getenv: func(name string) string { return vars[name] }}
}

// startProxy starts an HTTP proxy that supports only CONNECT, and counts its
// connections.
func startProxy(t *testing.T) (address string, connections *atomic.Int64) {
	t.Helper()
	connections = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		upstream, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer upstream.Close()
		client, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer client.Close()
		connections.Add(1)
		// Respond only after the hijack: net/http would otherwise consume what the client sends next.
		_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() {
			_, _ = io.Copy(upstream, buffered)
			_ = upstream.Close()
		}()
		_, _ = io.Copy(client, upstream)
	}))
	t.Cleanup(server.Close)
	return server.URL, connections
}

// The run uses only environment variables, the real CLI and the real provider.
func TestAccCredentialsAreReadFromTheEnvironment(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	config := cluster.RESTConfig(t)
	for name, value := range map[string]string{
		"KUBE_HOST": config.Host, "KUBE_CLUSTER_CA_CERT_DATA": string(config.CAData),
		"KUBE_TOKEN": cluster.ServiceAccount(t, ns, "deployer", "admin"), "KT_NAMESPACE": ns,
		"KT_USERNAME": `CORP\Alice`,
		"KUBECONFIG":  "/missing/kubeconfig",
	} {
		cli.Setenv(name, value)
	}
	cli.Write(t, acctest.Compute(""))
	cli.MustRun(t, "apply", "-auto-approve")
	label := cluster.Kubectl(t, "get", "deployment", "trainer", "-n", ns, "-o",
		`jsonpath={.metadata.labels.kubetorch\.com/username}`)
	if label != "alice" {
		t.Errorf("the label username is %q, want alice", label)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode") // fails unless the plan is empty
	cli.MustRun(t, "destroy", "-auto-approve")
}

// The run also creates the cluster, so its address is unknown in the plan.
func TestAccCredentialsMayBeUnknownInThePlan(t *testing.T) {
	t.Parallel()
	for name, attributes := range map[string]func(t *testing.T, ns string) string{
		"config_path": func(_ *testing.T, ns string) string {
			return "  config_path = terraform_data.cluster.output.path\n" + attribute("namespace", ns)
		},
		"host": func(t *testing.T, ns string) string {
			t.Helper()
			known := cluster.TokenAttributes(t, ns, cluster.ServiceAccount(t, ns, "deployer", "admin"))
			return strings.Replace(known, attribute("host", cluster.RESTConfig(t).Host),
				"  host = terraform_data.cluster.output.host\n", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			cli := acctest.NewCLI(t)
			cli.Write(t, fmt.Sprintf(`
resource "terraform_data" "cluster" {
  input = { host = %q, path = %q }
}
`, cluster.RESTConfig(t).Host, cluster.Kubeconfig())+minimalConfig(attributes(t, ns)))
			plan := cli.MustRun(t, "plan")
			if !strings.Contains(plan, "2 to add") || strings.Contains(plan, "Warning: The ") {
				t.Errorf("the plan failed:\n%s", plan)
			}
			cli.MustRun(t, "apply", "-auto-approve")
			cluster.Kubectl(t, "get", "deployment", "trainer", "-n", ns)
			cli.MustRun(t, "plan", "-detailed-exitcode") // fails unless the plan is empty
			// The address is unknown until the apply: existing objects must be kept.
			cli.MustRun(t, "plan", "-replace=terraform_data.cluster")
			cli.MustRun(t, "apply", "-auto-approve", "-replace=terraform_data.cluster")
			cli.MustRun(t, "destroy", "-auto-approve")
			if left := cluster.Kubectl(t, "get", "deployments,services,pods", "-n", ns, "-o", "name"); left != "" {
				t.Errorf("left behind:\n%s", left)
			}
		})
	}
}
