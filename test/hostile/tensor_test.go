package hostile_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
	"github.com/ktdev/terraform-provider-kt/test/hostile"
)

const token = hostile.Credential

func trusting(server *hostile.Server) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}
}

// A probe reads only the start of a response. The rest is in buffers of the connection.
func TestBadResponseToAProbe(t *testing.T) { //nolint:paralleltest // it measures memory
	const received, memory = 16 << 20, 128 << 20
	for name, serve := range servers() {
		for method, send := range map[string]func(*hostile.Server) probe.Result{
			"HTTP": func(server *hostile.Server) probe.Result {
				return probe.HTTP(t.Context(), probe.Web{URL: server.URL, TLS: trusting(server), Token: token})
			},
			"gRPC": func(server *hostile.Server) probe.Result {
				return probe.GRPC(t.Context(), probe.Endpoint{Target: server.Listener.Addr().String(),
					Options: tensor.Options{Credentials: credentials.NewTLS(trusting(server)), Token: token}})
			},
		} {
			t.Run(method+" "+name, func(t *testing.T) { //nolint:paralleltest // it measures memory
				server := serve(t)
				var result probe.Result
				used := allocated(func() { result = send(server) })
				if result.Status == probe.Serving && method == "gRPC" {
					t.Errorf("the result is %+v", result)
				}
				hostile.Check(t, result.Detail)
				if len(result.Detail) > 5000 {
					t.Errorf("the detail has %d bytes", len(result.Detail))
				}
				if sent := server.Sent.Load(); sent > received {
					t.Errorf("%d MiB were received", sent>>20)
				}
				if used > memory {
					t.Errorf("%d MiB were allocated", used>>20)
				}
			})
		}
	}
}

func TestMessageOfATensorServerIsMasked(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		return status.Error(codes.Internal, hostile.Text)
	}))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	result := probe.GRPC(t.Context(), probe.Endpoint{Target: listener.Addr().String(),
		Options: tensor.Options{Token: token}})
	if result.Status != probe.Failed || !strings.Contains(result.Detail, "no") {
		t.Errorf("the result is %+v", result)
	}
	hostile.Check(t, result.Detail)
}
