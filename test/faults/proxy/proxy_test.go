package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const configMap = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}}`

// setup starts a server that counts executed requests, a proxy for it, and a client.
func setup(t *testing.T, http2 bool) (p *Proxy, client *http.Client, base string, executed *atomic.Int64) {
	t.Helper()
	executed = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		executed.Add(1)
		_, _ = io.WriteString(w, configMap)
		if r.URL.Query().Get("watch") == "true" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	upstream, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, err = Start(Options{Upstream: upstream, Transport: &http.Transport{}, Token: "secret", Namespace: "ns",
		HTTP2: http2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	text, err := p.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	if client, err = rest.HTTPClientFor(config); err != nil {
		t.Fatal(err)
	}
	return p, client, config.Host, executed
}

// always injects one kind of fault into all requests.
func always(kind Kind) Plan {
	return func(Request) *Fault { return &Fault{Kind: kind, Duration: 50 * time.Millisecond} }
}

func send(t *testing.T, client *http.Client, method, url string) (status int, body string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return response.StatusCode, string(data), err
}

func TestFaultsHaveTheEffectOfTheirKind(t *testing.T) {
	t.Parallel()
	const path = "/api/v1/namespaces/ns/configmaps/x"
	for _, c := range []struct {
		kind     Kind
		method   string
		status   int // 0 for an error before the status
		body     string
		failed   bool // while the body was read, or before
		executed int64
	}{
		{ResetBefore, http.MethodPatch, 0, "", true, 0},
		{ResetAfter, http.MethodPatch, 0, "", true, 1},
		{Throttled, http.MethodPatch, 429, "try again later", false, 0},
		{ThrottledRetry, http.MethodPatch, 429, "try again later", false, 0},
		{InternalError, http.MethodPatch, 500, "leader changed", false, 0},
		{Unavailable, http.MethodPatch, 503, "shutting down", false, 0},
		{GatewayTimeout, http.MethodPatch, 504, "<html>", false, 1},
		{Delay, http.MethodPatch, 200, configMap, false, 1},
		{CutBody, http.MethodPatch, 200, "", true, 1}, // the reset may overtake the half that was sent
		{ShortBody, http.MethodPatch, 200, configMap[:len(configMap)/2], false, 1},
		{Unauthorized, http.MethodPatch, 401, "Unauthorized", false, 0},
		{Conflict, http.MethodPatch, 409, "has been modified", false, 0},
		{Gone, http.MethodGet, 410, "too old", false, 0},
		{OutageRefused, http.MethodPatch, 0, "", true, 0},
		{OutageReset, http.MethodPatch, 0, "", true, 0},
		// Faults that apply only to writes do not affect other requests.
		{Conflict, http.MethodGet, 200, configMap, false, 1},
		{WatchCut, http.MethodPatch, 200, configMap, false, 1},
	} {
		for name, http2 := range map[string]bool{" over HTTP/1.1": false, " over HTTP/2": true} {
			t.Run(string(c.kind)+" "+c.method+name, func(t *testing.T) {
				t.Parallel()
				p, client, base, executed := setup(t, http2)
				p.Begin(always(c.kind), nil)
				status, body, err := send(t, client, c.method, base+path)
				if (err != nil) != c.failed || c.status != 0 && status != 0 && status != c.status ||
					!strings.Contains(body, c.body) {
					t.Errorf("%d %q %v; want %+v", status, body, err, c)
				}
				if got := executed.Load(); got != c.executed {
					t.Errorf("executed %d times, want %d", got, c.executed)
				}
				p.End()
				// The next request succeeds.
				p.Begin(NoFaults, nil)
				if _, body, err = send(t, client, http.MethodGet, base+path); err != nil || body != configMap {
					t.Errorf("without a fault: %q, %v", body, err)
				}
			})
		}
	}
}

func TestOutageRefusesConnectionsUntilItEnds(t *testing.T) {
	t.Parallel()
	p, client, base, _ := setup(t, false)
	p.Begin(func(Request) *Fault { return &Fault{Kind: OutageRefused, Duration: time.Hour} }, nil)
	if _, _, err := send(t, client, http.MethodPatch, base+"/api"); err == nil {
		t.Error("the request that starts the outage succeeds")
	}
	if _, _, err := send(t, client, http.MethodPatch, base+"/api"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("during the outage: %v", err)
	}
	p.End()
	if _, body, err := send(t, client, http.MethodGet, base+"/api"); err != nil || body != configMap {
		t.Errorf("after the outage: %q, %v", body, err)
	}
}

func TestHeldRequestsEndWhenTheCommandEnds(t *testing.T) {
	t.Parallel()
	p, client, base, executed := setup(t, false)
	held := make(chan struct{})
	p.Begin(func(Request) *Fault { close(held); return &Fault{Kind: Held} }, nil)
	done := make(chan error, 1)
	go func() {
		_, _, err := send(t, client, http.MethodPatch, base+"/api")
		done <- err
	}()
	<-held
	select {
	case err := <-done:
		t.Fatalf("unexpected response: %v", err)
	default:
	}
	p.End()
	if err := <-done; err == nil || executed.Load() != 0 {
		t.Errorf("%v, executed %d times", err, executed.Load())
	}
}

func TestWatchesAreResetOrSilent(t *testing.T) {
	t.Parallel()
	p, client, base, _ := setup(t, false)
	p.Begin(always(WatchCut), nil)
	if status, body, err := send(t, client, http.MethodGet, base+"/api?watch=true"); status != 200 ||
		body != configMap || err == nil {
		t.Errorf("cut: %d %q %v", status, body, err)
	}
	p.Begin(always(WatchSilent), nil)
	done := make(chan string, 1)
	started := make(chan struct{})
	go func() {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api?watch=true", nil)
		if err != nil {
			done <- err.Error()
			return
		}
		response, err := client.Do(request)
		if err != nil {
			done <- err.Error()
			return
		}
		close(started)
		data, _ := io.ReadAll(response.Body)
		done <- string(data)
		_ = response.Body.Close()
	}()
	<-started
	p.End()
	if got := <-done; got != "" {
		t.Errorf("a silent watch sent %q", got)
	}
}

func TestSignalsAreSentAfterTheExecution(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{KillCLI, InterruptCLI, KillProvider, Restart} {
		p, client, base, executed := setup(t, false)
		var signalled atomic.Value // the race detector does not see that the response follows the signal
		p.Begin(always(kind), func(k Kind) {
			if executed.Load() != 1 {
				t.Errorf("%s: executed %d times", k, executed.Load())
			}
			signalled.Store(k)
		})
		_, _, err := send(t, client, http.MethodPatch, base+"/api")
		if signalled.Load() != kind || (err == nil) != (kind == InterruptCLI) {
			t.Errorf("%s: signalled %q, %v", kind, signalled.Load(), err)
		}
	}
}

func TestIdentityOfRequestsDoesNotDependOnTheNamespace(t *testing.T) {
	t.Parallel()
	p, client, base, _ := setup(t, false)
	p.Begin(NoFaults, nil)
	for _, path := range []string{
		"/apis/apps/v1/namespaces/ns/deployments/web", "/apis/apps/v1/namespaces/ns/deployments/web?dryRun=All",
		"/apis/apps/v1/namespaces/ns/deployments/web", "/api/v1/namespaces/other/pods",
	} {
		if _, _, err := send(t, client, http.MethodPatch, base+path); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, record := range p.End() {
		got = append(got, record.Request.String())
	}
	want := []string{
		"PATCH /apis/apps/v1/deployments/web #1", "PATCH dry-run /apis/apps/v1/deployments/web #1",
		"PATCH /apis/apps/v1/deployments/web #2", "PATCH /api/v1/namespaces/other/pods #1",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("requests %q; want %q", got, want)
	}
}

func TestConnectionsAreResetIfTheAPIServerIsUnavailable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	p, client, base, _ := setup(t, false)
	p.opts.Upstream.Host = address
	if status, _, err := send(t, client, http.MethodPatch, base+"/api"); err == nil {
		t.Errorf("response with status %d", status)
	}
	p.End()
}
