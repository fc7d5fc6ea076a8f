// Package proxy is a reverse proxy between a provider and an API server that
// injects faults. It forwards the client's credentials.
package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Options configure a proxy.
type Options struct {
	Upstream  *url.URL          // the API server
	Transport http.RoundTripper // transport to the API server, without credentials
	Token     string            // bearer token in the kubeconfig of the proxy
	Namespace string            // of the scenario; not part of the identity of a request
	HTTP2     bool              // serve HTTP/2 like an API server, otherwise only HTTP/1.1
}

// Proxy is a running proxy.
type Proxy struct {
	opts     Options
	listener *outageListener
	server   *http.Server
	forward  *httputil.ReverseProxy
	cert     certificate
	served   chan struct{}

	mu       sync.Mutex
	plan     Plan
	signal   func(Kind)
	counts   map[Request]int
	records  []*Record
	started  time.Time
	released chan struct{}   // closed to release held requests
	written  uint64          // resource version of the last write of the command; 0 for none
	expiring map[string]bool // paths of lists whose next page has expired
	agent    string          // User-Agent of the requests that are served; all if empty
}

// Start starts a proxy on a free loopback port.
func Start(opts Options) (*Proxy, error) {
	cert, err := newCertificate()
	if err != nil {
		return nil, err
	}
	listener, err := newOutageListener()
	if err != nil {
		return nil, err
	}
	p := &Proxy{opts: opts, listener: listener, cert: cert, served: make(chan struct{})}
	p.Begin(NoFaults, nil)
	discard := log.New(io.Discard, "", 0) // resets are intentional
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(opts.Upstream) },
		Transport:     opts.Transport,
		FlushInterval: -1,
		ModifyResponse: func(response *http.Response) error {
			p.responded(response)
			return p.noteWrite(response)
		},
		ErrorLog: discard,
		// If the API server is unavailable, reset the connection instead of responding with a gateway error.
		ErrorHandler: func(_ http.ResponseWriter, r *http.Request, _ error) { reset(r) },
	}
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.serve),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          discard,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert.pair}, MinVersion: tls.VersionTLS12},
	}
	if !opts.HTTP2 {
		p.server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	go func() {
		defer close(p.served)
		_ = p.server.ServeTLS(listener, "", "") // returns after Close
	}()
	return p, nil
}

// Begin resets the recorded requests for one command of the CLI. The plan selects the fault of
// each request, and signal is called for faults that signal a process.
func (p *Proxy) Begin(plan Plan, signal func(Kind)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan, p.signal = plan, signal
	p.counts, p.records, p.started = map[Request]int{}, nil, time.Now()
	p.released = make(chan struct{})
	p.written, p.expiring = 0, map[string]bool{}
}

// End ends outages, releases held requests, and returns the requests since Begin.
func (p *Proxy) End() []Record {
	p.listener.reopen()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = NoFaults
	select {
	case <-p.released:
	default:
		close(p.released)
	}
	records := make([]Record, len(p.records))
	for i, record := range p.records {
		records[i] = *record
	}
	return records
}

// ResetConnections resets all connections, as the end of a client does.
func (p *Proxy) ResetConnections() { p.listener.resetAll() }

// Close stops the proxy and resets all connections.
func (p *Proxy) Close() error {
	p.End()
	err := p.server.Close()
	<-p.served
	return errors.Join(err, p.listener.Close())
}

// URL returns the address of the proxy.
func (p *Proxy) URL() string { return "https://" + p.listener.address }

// Kubeconfig returns a kubeconfig for the proxy.
func (p *Proxy) Kubeconfig() ([]byte, error) {
	const name = "proxy"
	return clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			name: {Server: p.URL(), CertificateAuthorityData: p.cert.pem},
		},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: p.opts.Token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
}

// decide records a request and returns its fault.
func (p *Proxy) decide(r *http.Request) (record *Record, fault *Fault, signal func(Kind), released chan struct{}) {
	request := identify(r, p.opts.Namespace)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[request]++
	request.N = p.counts[request]
	fault = p.plan(request)
	if fault != nil && !fault.Kind.AppliesTo(request) {
		fault = nil
	}
	record = &Record{Request: request, After: time.Since(p.started)}
	if fault != nil {
		record.Fault = fault.Kind
	}
	p.records = append(p.records, record)
	return record, fault, p.signal, p.released
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	// After the body is read, the end of the connection cancels r.Context.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		reset(r)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !p.admits(r) {
		reset(r)
	}
	if p.expires(r) {
		p.reject(w, GonePage)
		return
	}
	record, fault, signal, released := p.decide(r)
	r = r.WithContext(context.WithValue(r.Context(), recordKey{}, record))
	if fault == nil {
		p.forward.ServeHTTP(w, r)
		return
	}
	switch fault.Kind {
	case ResetBefore:
		reset(r)
	case Throttled, ThrottledRetry, InternalError, Unavailable, Unauthorized, Conflict, Gone:
		p.reject(w, fault.Kind)
	case Delay:
		sleep(r.Context(), released, fault.Duration)
		p.forward.ServeHTTP(w, r)
	case OutageRefused, OutageReset:
		p.listener.outage(fault.Kind == OutageReset, fault.Duration)
		reset(r)
	case Held:
		sleep(r.Context(), released, time.Hour)
		reset(r)
	case WatchSilent:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		sleep(r.Context(), released, time.Hour)
	case WatchDropped, WatchLate:
		p.filterWatch(w, r, fault, released)
	case StaleRead:
		p.readStale(w, r)
	case GonePage:
		p.expirePages(w, r)
	case InterruptCLI, TerminateCLI:
		if isWatch(r) {
			signal(fault.Kind)
			p.forward.ServeHTTP(w, r)
			return
		}
		p.failResponse(w, r, fault.Kind, signal)
	default:
		p.failResponse(w, r, fault.Kind, signal)
	}
}

// reject responds like the API server, or a load balancer in front of it.
func (p *Proxy) reject(w http.ResponseWriter, kind Kind) {
	var status int
	var reason, message string
	switch kind {
	case Throttled, ThrottledRetry:
		status, reason, message = http.StatusTooManyRequests, "TooManyRequests",
			"too many requests, please try again later"
	case InternalError:
		status, reason, message = http.StatusInternalServerError, "InternalError", "etcdserver: leader changed"
	case Unavailable:
		status, reason, message = http.StatusServiceUnavailable, "ServiceUnavailable", "apiserver is shutting down"
	case Unauthorized:
		status, reason, message = http.StatusUnauthorized, "Unauthorized", "Unauthorized"
	case GonePage:
		status, reason, message = http.StatusGone, "Expired", "The provided continue parameter is too old to display "+
			"a consistent list result. You can start a new list without the continue parameter."
	case Conflict:
		status, reason, message = http.StatusConflict, "Conflict", "the object has been modified; please apply "+
			"your changes to the latest version and try again"
	default:
		status, reason, message = http.StatusGone, "Expired", "too old resource version"
	}
	w.Header().Set("Content-Type", "application/json")
	if kind == ThrottledRetry {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w,
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`,
		message, reason, status)
}

// failResponse forwards a request to the server, and injects the fault into the response.
func (p *Proxy) failResponse(w http.ResponseWriter, r *http.Request, kind Kind, signal func(Kind)) {
	response, err := p.execute(r)
	if err != nil {
		reset(r)
	}
	defer response.Body.Close()
	if kind == WatchCut {
		first := make([]byte, 4096)
		n, _ := response.Body.Read(first)
		copyHeader(w, response)
		_, _ = w.Write(first[:n])
		_ = http.NewResponseController(w).Flush()
		reset(r)
	}
	var body []byte
	if !isWatch(r) {
		if body, err = io.ReadAll(response.Body); err != nil {
			reset(r)
		}
	}
	switch kind {
	case GatewayTimeout:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusGatewayTimeout)
		_, _ = io.WriteString(w, "<html><body><h1>504 Gateway Time-out</h1></body></html>")
	case CutBody:
		response.Header.Set("Content-Length", strconv.Itoa(len(body)))
		copyHeader(w, response)
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		reset(r)
	case ShortBody:
		response.Header.Set("Content-Length", strconv.Itoa(len(body)/2))
		copyHeader(w, response)
		_, _ = w.Write(body[:len(body)/2])
	case KillCLI, KillProvider, Restart:
		signal(kind)
		reset(r)
	case InterruptCLI, TerminateCLI:
		signal(kind)
		copyHeader(w, response)
		_, _ = w.Write(body)
	default:
		reset(r)
	}
}

// execute sends a request to the server, independently of the context of the client.
func (p *Proxy) execute(r *http.Request) (*http.Response, error) {
	out := r.Clone(context.WithoutCancel(r.Context()))
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = p.opts.Upstream.Scheme, p.opts.Upstream.Host,
		p.opts.Upstream.Host, ""
	response, err := p.opts.Transport.RoundTrip(out)
	if err == nil {
		response.Request = out
		p.responded(response)
		err = p.noteWrite(response)
	}
	return response, err
}

// recordKey is the key of the record in the context of a request.
type recordKey struct{}

// responded records the status of a response of the server.
func (p *Proxy) responded(response *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if record, ok := response.Request.Context().Value(recordKey{}).(*Record); ok {
		record.Status = response.StatusCode
	}
}

func copyHeader(w http.ResponseWriter, response *http.Response) {
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
}

func isWatch(r *http.Request) bool { return identify(r, "").Watch }

// sleep waits until the client disconnects, the command ends or the duration expires.
func sleep(ctx context.Context, released <-chan struct{}, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-released:
	case <-timer.C:
	}
}

// connKey is the key of the connection in the context of a request.
type connKey struct{}

// reset resets the connection of a request and ends the handler. With HTTP/2, this affects all requests on the
// connection.
func reset(r *http.Request) {
	if conn, ok := r.Context().Value(connKey{}).(*tls.Conn); ok {
		inner := conn.NetConn()
		if t, ok := inner.(*tracked); ok {
			inner = t.Conn
		}
		resetConn(inner)
		_ = conn.NetConn().Close() // removes the connection from the tracked ones
	}
	panic(http.ErrAbortHandler)
}
