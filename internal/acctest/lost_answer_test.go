package acctest_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// lossyProxy is a way to the cluster on which answers get lost: a request for
// which lose is true is carried out, and then its connection is closed. Others
// pass, as all do once it is repaired.
type lossyProxy struct {
	URL      string
	repaired atomic.Bool
	lost     atomic.Int32
	before   bool // requests are lost as well, on the way there

	forbidden bool // they are answered, with 403
}

func newLossyProxy(t *testing.T, lose func(*http.Request) bool) *lossyProxy {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &lossyProxy{}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(request *httputil.ProxyRequest) { request.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if proxy.repaired.Load() || !lose(request) {
			forward.ServeHTTP(w, request)
			return
		}
		proxy.lost.Add(1)
		if proxy.forbidden {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`))
			return
		}
		if !proxy.before {
			forward.ServeHTTP(httptest.NewRecorder(), request)
		}
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}))
	server.Config.ErrorLog = nil
	t.Cleanup(server.CloseClientConnections)
	proxy.URL = server.URL
	return proxy
}

// written says whether a request writes an object, and is no dry run.
func written(request *http.Request, object string) bool {
	return request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, object) && request.URL.Query().Get("dryRun") == ""
}

// config is the configuration of a provider that goes by the proxy.
func (p *lossyProxy) config(namespace, resources string) string {
	return `
provider "kt" {
  host      = "` + p.URL + `"
  namespace = "` + namespace + `"
  username  = "alice"
}
` + resources
}

func TestAccLostAnswerLeavesNoOrphan(t *testing.T) {
	t.Parallel()
	if cluster == nil {
		t.Skip("TF_ACC is not set")
	}
	for name, test := range map[string]struct {
		resources string
		object    string // whose answers are lost
		warning   bool   // nothing is tainted
		kind      string
	}{
		"compute":              {compute(`image = "python:3.12"`), "/deployments/trainer", false, "deployment,service"},
		"Service of a compute": {compute(`image = "python:3.12"`), "/services/trainer", true, "deployment,service"},
		"secret": {`resource "kt_secret" "token" {
  name      = "token"
  values_wo = { TOKEN = "x" }
}`, "/secrets/token", false, "secret/token"},
		"volume": {volume("size = \"1Gi\"\n" + oneWriter), "/persistentvolumeclaims/data", true, "persistentvolumeclaim"},
		"image": {`resource "kt_image" "base" {
  name  = "base"
  base  = "python:3.12"
  steps = [{ run_bash = "true" }]
}`, "/configmaps/kt-image-base", false, "configmap/kt-image-base"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			proxy := newLossyProxy(t, func(request *http.Request) bool { return written(request, test.object) })
			cli := acctest.NewCLI(t)
			cli.Write(t, proxy.config(ns, test.resources))
			a := ask(t, cli, "apply", "-auto-approve")
			if a.failed == test.warning || proxy.lost.Load() < 2 {
				t.Errorf("failed: %t, %d answers were lost\n%s", a.failed, proxy.lost.Load(), a)
			}
			state := readState(t, cli)
			if len(state) != 1 || (state[0].Status == "tainted") == test.warning {
				t.Errorf("state holds %+v", state)
			}
			proxy.repaired.Store(true)
			cli.MustRun(t, "destroy", "-auto-approve")
			if left := cluster.Kubectl(t, "get", test.kind, "-n", ns, "--ignore-not-found", "-o", "name"); strings.TrimSpace(left) != "" {
				t.Errorf("after the destroy there is still %s", left)
			}
		})
	}
}

func TestAccLostAnswerIsCompletedByTheNextApplyWithoutReplacement(t *testing.T) {
	t.Parallel()
	if cluster == nil {
		t.Skip("TF_ACC is not set")
	}
	for name, test := range map[string]struct {
		resources, object, kept, missing string
		before                           bool
	}{
		"Service of a compute": {compute(`image = "python:3.12"`), "/services/trainer", "deployment/trainer", "service/trainer", true},
		"volume":               {volume("size = \"1Gi\"\n" + oneWriter), "/persistentvolumeclaims/data", "persistentvolumeclaim/data", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			proxy := newLossyProxy(t, func(request *http.Request) bool { return written(request, test.object) })
			proxy.before = test.before
			cli := acctest.NewCLI(t)
			cli.Write(t, proxy.config(ns, test.resources))
			cli.MustRun(t, "apply", "-auto-approve")
			uid := func() string { return cluster.Kubectl(t, "get", test.kept, "-n", ns, "-o", "jsonpath={.metadata.uid}") }
			before := uid()
			proxy.repaired.Store(true)
			cli.MustRun(t, "apply", "-auto-approve")
			if after := uid(); after != before {
				t.Errorf("%s was replaced", test.kept)
			}
			if test.missing != "" {
				cluster.Kubectl(t, "get", test.missing, "-n", ns)
			}
			cli.MustRun(t, "plan", "-detailed-exitcode")
			cli.MustRun(t, "destroy", "-auto-approve")
		})
	}
}
