package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// proxied starts a proxy for a server, and a client that needs no certificate.
func proxied(t *testing.T, handler http.HandlerFunc) (p *Proxy, get func(method, path string) (int, string)) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	upstream, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, err = Start(Options{Upstream: upstream, Transport: &http.Transport{}, Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, func(method, path string) (int, string) {
		t.Helper()
		response := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader("{}"))
		request.RequestURI = ""
		func() {
			defer func() { _ = recover() }() // a reset
			p.serve(response, request)
		}()
		return response.Code, response.Body.String()
	}
}

func applicable(kind Kind, seed uint64) Plan {
	return func(r Request) *Fault {
		if !kind.AppliesTo(r) {
			return nil
		}
		return &Fault{Kind: kind, Seed: seed}
	}
}

func TestStaleReadsShowTheStateBeforeTheLastWrite(t *testing.T) {
	t.Parallel()
	p, get := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch {
		case r.Method != http.MethodGet:
			_, _ = io.WriteString(w, `{"kind":"ConfigMap","metadata":{"resourceVersion":"42"}}`)
		case query.Get("resourceVersionMatch") != "Exact":
			_, _ = io.WriteString(w, `{"kind":"ConfigMap","metadata":{"name":"x","resourceVersion":"42"}}`)
		case query.Get("fieldSelector") == "metadata.name=x":
			fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","items":[{"metadata":{"name":"x",`+
				`"resourceVersion":%q}}]}`, query.Get("resourceVersion"))
		default:
			_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","items":[]}`)
		}
	})
	p.Begin(applicable(StaleRead, 0), nil)
	const object = "/api/v1/namespaces/ns/configmaps/"
	if _, body := get(http.MethodGet, object+"x"); !strings.Contains(body, `"42"`) {
		t.Errorf("before a write: %s", body)
	}
	get(http.MethodPatch, object+"x")
	want := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","resourceVersion":"41"}}`
	if code, body := get(http.MethodGet, object+"x"); code != http.StatusOK || body != want {
		t.Errorf("after a write: %d %s", code, body)
	}
	if code, body := get(http.MethodGet, object+"y"); code != http.StatusNotFound ||
		!strings.Contains(body, "NotFound") {
		t.Errorf("an object that did not exist: %d %s", code, body)
	}
	if code, body := get(http.MethodGet, "/api/v1/namespaces/ns/configmaps"); code != http.StatusOK ||
		!strings.Contains(body, `"items":[]`) {
		t.Errorf("a list: %d %s", code, body)
	}
}

func TestOnlyReadsOfObjectsCanBeStale(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/api/v1/configmaps": true, "/api/v1/namespaces/a/configmaps/x": true, "/apis/apps/v1/deployments/x": true,
		"/apis/apps/v1/namespaces/a/deployments": true, "/api/v1/namespaces/kube-system": true,
		"/api": false, "/apis/": false, "/apis/apps/v1": false, "/api/v1": false, "/readyz": false,
		"/openapi/v3/api/v1": false, "/api/v1/namespaces/a/pods/x/log": false,
	} {
		if got := StaleRead.AppliesTo(Request{Method: http.MethodGet, Path: path}); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}

func TestAListExpiresAfterItsFirstPage(t *testing.T) {
	t.Parallel()
	p, get := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Query().Encode())
	})
	p.Begin(applicable(GonePage, 0), nil)
	const list = "/api/v1/namespaces/ns/configmaps"
	for _, request := range []struct {
		query string
		code  int
		body  string
	}{
		{"?limit=500", http.StatusOK, "limit=1"},
		{"?limit=500&continue=a", http.StatusGone, `"reason":"Expired"`},
		{"", http.StatusOK, ""}, // the client begins again
	} {
		if code, body := get(http.MethodGet, list+request.query); code != request.code ||
			!strings.Contains(body, request.body) {
			t.Errorf("%s: %d %s", request.query, code, body)
		}
	}
}

func TestAWatchDropsTheEventsOfItsSeed(t *testing.T) {
	t.Parallel()
	events := []string{`{"type":"ADDED","object":{"n":1}}`, `{"type":"MODIFIED","object":{"n":2}}`,
		`{"type":"BOOKMARK","object":{"n":3}}`, `{"type":"MODIFIED","object":{"n":4}}`}
	for _, test := range []struct {
		kind Kind
		seed uint64
		want []string
	}{
		{WatchDropped, 0, events},
		{WatchDropped, 1<<2 | 1<<3, []string{events[0], events[2], events[3]}},
		{WatchLate, 1<<2 | 1<<3, events},
	} {
		p, get := proxied(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Join(events, "\n")+"\n")
		})
		p.Begin(applicable(test.kind, test.seed), nil)
		if _, body := get(http.MethodGet, "/api/v1/pods?watch=true"); body != strings.Join(test.want, "\n")+"\n" {
			t.Errorf("%s with %b: %s", test.kind, test.seed, body)
		}
	}
}

func TestRequestsOfAProviderThatNoLongerExistsAreReset(t *testing.T) {
	t.Parallel()
	executed := 0
	p, get := proxied(t, func(http.ResponseWriter, *http.Request) { executed++ })
	p.Admit("next")
	get(http.MethodGet, "/api/v1/pods")
	p.Admit("")
	get(http.MethodGet, "/api/v1/pods")
	if executed != 1 || len(p.End()) != 1 {
		t.Errorf("executed %d times", executed)
	}
}
