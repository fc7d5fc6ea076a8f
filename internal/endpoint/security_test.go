package endpoint

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
)

const token = "abc"

// webServer starts an HTTPS server that requires the token. Its certificate is for 127.0.0.1 and example.com.
func webServer(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// grpcServer is like webServer, with the health check of gRPC.
func grpcServer(t *testing.T, certificates []tls.Certificate) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)),
		grpc.UnaryInterceptor(func(
			ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
		) (any, error) {
			if values := metadata.ValueFromIncomingContext(ctx, "authorization"); len(values) != 1 ||
				values[0] != "Bearer "+token {
				return nil, status.Error(codes.Unauthenticated, "who are you?")
			}
			return handle(ctx, req)
		}))
	healthpb.RegisterHealthServer(server, health.NewServer())
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-done })
	return listener.Addr().String()
}

func TestProbeUsesTLSAndTheToken(t *testing.T) {
	t.Parallel()
	web := webServer(t)
	trusted := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}))
	_, webPort, err := net.SplitHostPort(web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	target := grpcServer(t, web.TLS.Certificates)
	for name, c := range map[string]struct {
		security Security
		want     probe.Status
		detail   string
	}{
		"trusted": {Security{TLS: true, CACertificate: trusted, Token: token}, probe.Serving, ""},
		"another name in the certificate": {
			Security{TLS: true, CACertificate: trusted, ServerName: "example.com", Token: token}, probe.Serving, ""},
		"not verified": {Security{TLS: true, Insecure: true, Token: token}, probe.Serving, ""},
		"not trusted":  {Security{TLS: true, Token: token}, probe.Failed, "unknown authority"},
		"a name that the certificate does not have": {
			Security{TLS: true, CACertificate: trusted, ServerName: "pool.ml", Token: token}, probe.Failed, "pool.ml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, q := range []ProbeRequest{
				{Method: MethodHTTP, Route: Route{URL: "http://127.0.0.1:" + webPort}},
				{Method: MethodHealth, Route: Route{Target: target}},
			} {
				q.Endpoint, q.Security, q.Timeout = &Endpoint{Namespace: "ml", Name: "pool"}, c.security, 30*time.Second
				got, err := q.Send(t.Context(), q.Route.Dialer())
				if err != nil || got.Status != c.want || !strings.Contains(got.Detail, c.detail) {
					t.Errorf("%s: %+v, %v; want %s with %q", q.Method, got, err, c.want, c.detail)
				}
			}
		})
	}
	for method, want := range map[string]probe.Status{MethodHTTP: probe.NotServing, MethodHealth: probe.Failed} {
		q := ProbeRequest{Endpoint: &Endpoint{}, Method: method, Timeout: 30 * time.Second,
			Route:    Route{URL: "http://127.0.0.1:" + webPort, Target: target},
			Security: Security{TLS: true, CACertificate: trusted, Token: "wrong"}}
		got, err := q.Send(t.Context(), q.Route.Dialer())
		if err != nil || got.Status != want || !strings.Contains(got.Detail, "who are you?") {
			t.Errorf("%s with a wrong token: %+v, %v; want %s", method, got, err, want)
		}
	}
}

func TestTokenIsNotSentWithoutEncryption(t *testing.T) {
	t.Parallel()
	forward := func(context.Context) (net.Conn, error) { return nil, errors.New("not dialed") }
	for name, c := range map[string]struct {
		security Security
		route    Route
		exposed  bool
	}{
		"plaintext":      {Security{Token: token}, Route{URL: "http://llm.example.com"}, true},
		"gRPC":           {Security{Token: token}, Route{Target: "10.0.0.1:50051"}, true},
		"an https URL":   {Security{Token: token}, Route{URL: "https://llm.example.com"}, false},
		"with TLS":       {Security{Token: token, TLS: true}, Route{URL: "http://llm.example.com"}, false},
		"a port-forward": {Security{Token: token}, Route{forward: forward}, false},
		"without token":  {Security{}, Route{Target: "10.0.0.1:50051"}, false},
	} {
		if got := c.security.ExposesToken(c.route); got != c.exposed {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestInvalidCertificateIsAnError(t *testing.T) {
	t.Parallel()
	security := Security{TLS: true, CACertificate: "-----BEGIN"}
	if err := security.Check(); err == nil || !strings.Contains(err.Error(), "PEM") {
		t.Error(err)
	}
}

func TestDescriptionOfAProbeOmitsItsToken(t *testing.T) {
	t.Parallel()
	q := ProbeRequest{Endpoint: &Endpoint{}, Security: Security{Token: "s3cr3t"}}
	if strings.Contains(q.String(), "s3cr3t") {
		t.Errorf("%s", q)
	}
}
