package provider_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// refusal is a provider block with which an apply fails.
type refusal struct {
	attributes    string
	planContinues bool     // the plan continues with a warning
	messages      []string // texts in the error of the apply
	secret        string   // value that must not appear in any output
}

func TestAccInvalidCredentialsAreReported(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(t *testing.T, ns string) refusal{
		"wrong-address":      wrongAddress,
		"wrong-authority":    wrongAuthority,
		"wrong-token":        wrongToken,
		"revoked-token":      revokedToken,
		"read-only":          readOnly,
		"no-permissions":     noPermissions,
		"unknown-context":    unknownContext,
		"missing-kubeconfig": missingKubeconfig,
		"nothing-configured": nothingConfigured,
		"failing-plugin":     failingPlugin,
		"missing-plugin":     missingPlugin,
		"closed-proxy":       closedProxy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			refused := refuse(t, ns)
			cli := acctest.NewCLI(t)
			cli.Write(t, minimalConfig(refused.attributes))
			plan := cli.RunJSON(t, "plan")
			warning := acctest.Unwrap(strings.Join(plan.Diagnostics("warning", acctest.Trainer), " "))
			switch {
			case refused.planContinues && (plan.Failed || !strings.Contains(warning, "The plan continues") &&
				!strings.Contains(warning, "Planned without a server-side dry run")):
				t.Errorf("the plan should continue with a warning:\n%s", plan)
			case !refused.planContinues && !plan.Failed:
				t.Errorf("the plan should fail:\n%s", plan)
			}
			applied := cli.RunJSON(t, "apply", "-auto-approve")
			failures := applied.Diagnostics("error", "")
			for _, text := range applied.Diagnostics("error", acctest.Trainer) {
				failures = append(failures, acctest.Trainer+": "+text)
			}
			failure := acctest.Unwrap(strings.Join(failures, " "))
			if !applied.Failed || failure == "" {
				t.Errorf("apply did not fail:\n%s", applied)
			}
			for _, text := range refused.messages {
				if !strings.Contains(failure, text) {
					t.Errorf("%q is missing in the error:\n%s", text, failure)
				}
			}
			if refused.secret != "" && strings.Contains(withoutSpaces(plan.Output+applied.Output), refused.secret) {
				t.Error("the output contains a credential")
			}
			expectNothingCreated(t, cli, ns)
		})
	}
}

// expectNothingCreated checks that the state and the namespace are empty.
func expectNothingCreated(t *testing.T, cli *acctest.CLI, ns string) {
	t.Helper()
	if state, _ := cli.Run(t, "state", "list"); strings.Contains(state, "kt_compute") {
		t.Errorf("in state: %s", state)
	}
	if left := cluster.Kubectl(t, "get", "deployments,services,pods", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("in the cluster:\n%s", left)
	}
}

// withoutSpaces removes the spaces of an output, so that line breaks cannot hide a
// credential.
func withoutSpaces(output string) string { return strings.ReplaceAll(output, " ", "") }

func wrongAddress(t *testing.T, ns string) refusal {
	t.Helper()
	token := cluster.ServiceAccount(t, ns, "deployer", "admin")
	address := acctest.ClosedPort(t)
	return refusal{
		attributes:    attribute("host", "https://"+address) + attribute("token", token) + attribute("namespace", ns),
		planContinues: true, secret: token,
		messages: []string{"The Kubernetes API server cannot be reached", "kt_compute.trainer", "Deployment " + ns,
			"https://" + address + "/apis/apps/v1/namespaces/" + ns + "/deployments/trainer: dial tcp",
			"connection refused", "kubectl cluster-info"},
	}
}

func wrongAuthority(t *testing.T, ns string) refusal {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	token := cluster.ServiceAccount(t, ns, "deployer", "admin")
	return refusal{
		attributes: attribute("host", cluster.RESTConfig(t).Host) + attribute("token", token) +
			attribute("namespace", ns) +
			attribute("cluster_ca_certificate",
				string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))),
		planContinues: true, secret: token,
		messages: []string{"The Kubernetes API server cannot be reached", "certificate signed by unknown authority",
			"the certificate of the server"},
	}
}

func wrongToken(t *testing.T, ns string) refusal {
	t.Helper()
	token := "c2VjcmV0LXRva2Vu"
	return refusal{
		attributes: cluster.TokenAttributes(t, ns, token), secret: token,
		messages: []string{"The API server rejected the credentials", "invalid or expired", "kubectl auth whoami"},
	}
}

// revokedToken returns a provider block with a token that the server no longer
// accepts. The server handles an expired token in the same way, but the minimum
// lifetime of a token is ten minutes.
func revokedToken(t *testing.T, ns string) refusal {
	t.Helper()
	token := cluster.ServiceAccount(t, ns, "deployer", "admin")
	cluster.Kubectl(t, "delete", "serviceaccount", "deployer", "-n", ns)
	return refusal{
		attributes: cluster.TokenAttributes(t, ns, token), secret: token,
		messages: []string{"The API server rejected the credentials", "invalid or expired", "kubectl auth whoami"},
	}
}

func readOnly(t *testing.T, ns string) refusal {
	t.Helper()
	token := cluster.ServiceAccount(t, ns, "reader", "view")
	return refusal{
		attributes: cluster.TokenAttributes(t, ns, token), planContinues: true, secret: token,
		messages: []string{"No permission to apply Deployment " + ns + "/trainer",
			`cannot patch resource "deployments"`,
			"reader", "kubectl auth can-i --list -n " + ns},
	}
}

func noPermissions(t *testing.T, ns string) refusal {
	t.Helper()
	cluster.Kubectl(t, "create", "serviceaccount", "nobody", "-n", ns)
	token := cluster.Kubectl(t, "create", "token", "nobody", "-n", ns)
	return refusal{
		attributes: cluster.TokenAttributes(t, ns, token), planContinues: true, secret: token,
		messages: []string{"No permission to", "Deployment " + ns, "nobody", "kubectl auth can-i --list -n " + ns},
	}
}

func unknownContext(_ *testing.T, ns string) refusal {
	return refusal{
		attributes: attribute("config_path", cluster.Kubeconfig()) + attribute("config_context", "no-such-context") +
			attribute("namespace", ns),
		planContinues: true,
		messages: []string{"The provider is not configured for a cluster",
			`context "no-such-context" is not in kubeconfig ` + cluster.Kubeconfig(), "which has the contexts: "},
	}
}

func missingKubeconfig(t *testing.T, _ string) refusal {
	t.Helper()
	file := filepath.Join(t.TempDir(), "missing")
	return refusal{
		attributes: attribute("config_path", file), planContinues: true,
		messages: []string{"The provider is not configured for a cluster",
			"cannot read kubeconfig " + file + ": no such file or directory"},
	}
}

func nothingConfigured(*testing.T, string) refusal {
	return refusal{
		planContinues: true,
		messages: []string{
			"The provider is not configured for a cluster", "no Kubernetes cluster is configured",
			"set host or config_path",
			"- attribute host, KUBE_HOST: not set", "- KUBECONFIG: not set", "- ~/.kube/config: no such file",
			"- in-cluster service account: ",
		},
	}
}

// withPlugin returns the attributes for the cluster with a credential plugin.
func withPlugin(t *testing.T, ns, command string) string {
	t.Helper()
	config := cluster.RESTConfig(t)
	return attribute("host", config.Host) + attribute("cluster_ca_certificate", string(config.CAData)) +
		attribute("namespace", ns) +
		fmt.Sprintf("  exec = {\n    api_version = \"client.authentication.k8s.io/v1\"\n    command = %q\n  }\n",
			command)
}

func failingPlugin(t *testing.T, ns string) refusal {
	t.Helper()
	file := filepath.Join(t.TempDir(), "login.sh")
	if err := os.WriteFile(file, []byte("#!/bin/sh\necho c2VjcmV0LXRva2Vu\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return refusal{
		attributes: withPlugin(t, ns, file), planContinues: true, secret: "c2VjcmV0LXRva2Vu",
		messages: []string{"The provider is not configured for a cluster",
			"the credential plugin " + file + " did not return credentials", "exit code 3", "Run the plugin by hand"},
	}
}

func missingPlugin(t *testing.T, ns string) refusal {
	t.Helper()
	return refusal{
		attributes: withPlugin(t, ns, "kt-no-such-plugin"), planContinues: true,
		messages: []string{"The provider is not configured for a cluster",
			"exec: executable kt-no-such-plugin not found"},
	}
}

func closedProxy(t *testing.T, ns string) refusal {
	t.Helper()
	address := acctest.ClosedPort(t)
	return refusal{
		attributes: attribute("config_path", cluster.Kubeconfig()) + attribute("namespace", ns) +
			attribute("proxy_url", "http://anna:c2VjcmV0LXRva2Vu@"+address),
		planContinues: true, secret: "c2VjcmV0LXRva2Vu",
		messages: []string{"The Kubernetes API server cannot be reached", "proxyconnect", address,
			"connection refused"},
	}
}

// The first token is revoked between plan and apply, the second one after the apply.
func TestAccRevokedCredentialsLeaveStateConsistentWithTheCluster(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	token := func(name string) string {
		token := cluster.ServiceAccount(t, ns, name, "admin")
		cli.Write(t, minimalConfig(cluster.TokenAttributes(t, ns, token)))
		return token
	}
	mustBeRejected := func(token string, args ...string) {
		t.Helper()
		output, err := cli.Run(t, args...)
		output = acctest.Unwrap(output)
		if err == nil || !strings.Contains(output, "The API server rejected the credentials") {
			t.Errorf("%v: %v\n%s", args, err, output)
		}
		if strings.Contains(withoutSpaces(output), token) {
			t.Error("the output contains the token")
		}
	}

	first := token("first")
	cli.MustRun(t, "plan", "-out", "saved")
	revoke(t, ns, "first", first)
	mustBeRejected(first, "apply", "saved")
	expectNothingCreated(t, cli, ns)

	second := token("second")
	cli.MustRun(t, "apply", "-auto-approve")
	revoke(t, ns, "second", second)
	mustBeRejected(second, "plan")
	mustBeRejected(second, "apply", "-auto-approve")
	mustBeRejected(second, "destroy", "-auto-approve")
	if state := cli.MustRun(t, "state", "list"); !strings.Contains(state, acctest.Trainer) {
		t.Errorf("the compute is missing in state: %s", state)
	}
	cluster.Kubectl(t, "get", "deployment,service", "trainer", "-n", ns)

	token("third")
	cli.MustRun(t, "plan", "-detailed-exitcode") // fails unless the plan is empty
	cli.MustRun(t, "destroy", "-auto-approve")
}

// The responses of another server are not evidence that objects were deleted.
func TestAccCredentialsForAnotherServerDoNotChangeState(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	valid := minimalConfig(attribute("config_path", cluster.Kubeconfig()) + attribute("namespace", ns))
	cli.Write(t, valid)
	cli.MustRun(t, "apply", "-auto-approve")
	for name, response := range map[string]struct {
		status int
		body   string
	}{
		"a web server that returns 404": {http.StatusNotFound, "404 page not found\n"},
		"a login page":                  {http.StatusOK, "<html>Please log in.</html>"},
		"a proxy without a backend":     {http.StatusBadGateway, "Bad Gateway"},
		"a gateway that denies access":  {http.StatusForbidden, "Forbidden"},
	} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(response.status)
			_, _ = io.WriteString(w, response.body)
		}))
		server.Config.ErrorLog = log.New(io.Discard, "", 0) // the end of a run interrupts its connections
		server.StartTLS()
		cli.Write(t, minimalConfig(attribute("host", server.URL)+attribute("namespace", ns)+"  insecure = true\n"))
		if output, err := cli.Run(t, "plan", "-detailed-exitcode"); err == nil ||
			strings.Contains(output, "will be created") {
			t.Errorf("%s: %v\n%s", name, err, output)
		}
		for _, command := range [][]string{{"apply", "-auto-approve"}, {"destroy", "-auto-approve"},
			{"destroy", "-auto-approve", "-refresh=false"}} {
			output, err := cli.Run(t, command...)
			if err == nil {
				t.Errorf("%s: %v succeeded:\n%s", name, command, output)
			}
			if state := cli.MustRun(t, "state", "list"); !strings.Contains(state, acctest.Trainer) {
				t.Fatalf("%s: after %v the compute is not in state:\n%s", name, command, output)
			}
		}
		server.Close()
	}
	cluster.Kubectl(t, "get", "deployment,service", "trainer", "-n", ns)
	cli.Write(t, valid)
	cli.MustRun(t, "plan", "-detailed-exitcode") // fails unless the plan is empty
	cli.MustRun(t, "destroy", "-auto-approve")
}

// revoke invalidates a token of a service account, and waits until the API server
// rejects it. The API server caches valid tokens for ten seconds.
func revoke(t *testing.T, ns, name, token string) {
	t.Helper()
	cluster.Kubectl(t, "delete", "serviceaccount", name, "-n", ns)
	config := rest.AnonymousClientConfig(cluster.RESTConfig(t))
	config.BearerToken = token
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 500*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet,
				config.Host+"/api/v1/namespaces/"+ns+"/services", nil)
			if err != nil {
				return false, err
			}
			response, err := client.Do(request)
			if err != nil {
				return false, err
			}
			return response.StatusCode == http.StatusUnauthorized, response.Body.Close()
		})
	if err != nil {
		t.Fatalf("the API server still accepts a revoked token: %v", err)
	}
}
