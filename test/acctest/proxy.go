package acctest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// LossyProxy is a proxy of the API server that loses responses: it forwards each
// request that a test selects, and then closes the connection without a response.
type LossyProxy struct {
	URL      string
	Repaired atomic.Bool  // forwards every request and response
	Lost     atomic.Int32 // number of selected requests

	DropRequests bool   // does not forward selected requests
	Forbidden    bool   // responds to selected requests with 403 instead
	Denial       string // if set, the message of a response to selected requests with 400, as a webhook sends it
}

// NewLossyProxy starts a proxy that loses the responses to the requests for which
// lose returns true. It stops when the test ends.
func NewLossyProxy(t *testing.T, c *Cluster, lose func(*http.Request) bool) *LossyProxy {
	t.Helper()
	config := c.RESTConfig(t)
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &LossyProxy{}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(request *httputil.ProxyRequest) { request.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if proxy.Repaired.Load() || !lose(request) {
			forward.ServeHTTP(w, request)
			return
		}
		proxy.Lost.Add(1)
		if proxy.Forbidden {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure",
				"reason": "Forbidden", "message": "no", "code": 403}`))
			return
		}
		if proxy.Denial != "" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
				Reason: metav1.StatusReasonBadRequest, Code: http.StatusBadRequest, Message: proxy.Denial,
			})
			return
		}
		if !proxy.DropRequests {
			forward.ServeHTTP(httptest.NewRecorder(), request)
		}
		panic(http.ErrAbortHandler) // closes the connection without a response
	}))
	server.Config.ErrorLog = nil
	t.Cleanup(server.CloseClientConnections)
	proxy.URL = server.URL
	return proxy
}

// Writes reports whether a request writes the object at a path, without a dry run.
func Writes(request *http.Request, object string) bool {
	return request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, object) &&
		request.URL.Query().Get("dryRun") == ""
}

// Config returns resources, with a provider block that uses the proxy.
func (p *LossyProxy) Config(namespace, resources string) string {
	return `
provider "kt" {
  host      = "` + p.URL + `"
  namespace = "` + namespace + `"
  username  = "alice"
}
` + resources
}
