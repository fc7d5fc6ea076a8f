package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/kube/transport"
)

// broken returns one error for each request, and counts the requests.
type broken struct {
	err      error
	requests *atomic.Int64
}

func (b broken) RoundTrip(*http.Request) (*http.Response, error) {
	b.requests.Add(1)
	return nil, b.err
}

func TestMissingCredentialsAreAttributedToThePluginOnly(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "plugin.sh")
	const script = "#!/bin/sh\necho '" + `{"apiVersion": "client.authentication.k8s.io/v1", ` +
		`"kind": "ExecCredential", "status": {"token": "a"}}` + "'\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	resolved, err := config.Config{Host: "https://h", Exec: &config.Exec{
		APIVersion: "client.authentication.k8s.io/v1", Command: program}}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	plugin := resolved.Plugin
	plugin.Command = "aws"
	failed := errors.New("getting credentials: exec: executable aws failed with exit code 1")
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for name, test := range map[string]struct {
		plugin *config.Plugin
		err    error
		class  kube.Class
		says   string
	}{
		"the plugin failed": {plugin, failed, kube.Misconfigured,
			"the credential plugin aws did not return credentials: exec: executable aws failed with exit code 1"},
		"the server is unreachable": {plugin, refused, kube.Unreachable,
			"The request to read Deployment ml/trainer failed: GET https://h/apis: dial: connection refused"},
		"unreachable without a plugin": {nil, refused, kube.Unreachable,
			"GET https://h/apis: dial: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := &http.Client{Transport: transport.Plain(broken{test.err, &atomic.Int64{}}, test.plugin)}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://h/apis?watch=true", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err == nil {
				_ = response.Body.Close()
				t.Fatal("no error")
			}
			wrapped := kube.Wrap("read", kube.Ref{Kind: kind.Deployment(), Namespace: "ml", Name: "trainer"}, err)
			var failure *kube.Error
			if !errors.As(wrapped, &failure) || failure.Class != test.class {
				t.Fatalf("%v is of class %v, want %v", wrapped, kube.ClassOf(wrapped), test.class)
			}
			_, cause := failure.Explain()
			if detail := ready.Explain(&cause, nil); !strings.Contains(detail, test.says) ||
				strings.Contains(detail, "watch=true") {
				t.Errorf("it says:\n%s\nwant: %s", detail, test.says)
			}
		})
	}
}

func TestUnresponsiveServerIsReportedImmediately(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	client := &http.Client{Transport: transport.Plain(broken{&net.OpError{
		Op: "dial", Err: os.ErrDeadlineExceeded,
	}, &requests}, nil)}
	dyn, err := dynamic.NewForConfigAndClient(&rest.Config{Host: "https://h"}, client)
	if err != nil {
		t.Fatal(err)
	}
	ref := kube.Ref{Kind: kind.Deployment(), Namespace: "ml"}
	resource := ref.Kind.GroupVersion().WithResource(ref.Kind.Resource)
	_, err = dyn.Resource(resource).Namespace(ref.Namespace).Watch(t.Context(), metav1.ListOptions{})
	if class := kube.ClassOf(kube.Wrap("watch", ref, err)); class != kube.Unreachable {
		t.Errorf("%v is of class %v, want %v", err, class, kube.Unreachable)
	}
	if !strings.Contains(err.Error(), "dial: i/o timeout") || requests.Load() != 1 {
		t.Errorf("%d requests ended with: %v", requests.Load(), err)
	}
}

// client-go repeats these errors, or ends a watch without an error.
func TestFailedConnectionsAreHiddenFromTheClient(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"closed before a response": {io.EOF, "the connection was closed before a response was received (EOF)"},
		"closed while reading":     {fmt.Errorf("read: %w", io.EOF), "read: EOF"},
		"reset": {&net.OpError{Op: "read", Err: syscall.ECONNRESET},
			"read: connection reset"},
		"closed by this side": {errors.New("use of closed network connection"), "connection closed"},
		"a server that stops": {errors.New("http2: server sent GOAWAY and closed the connection"),
			"http2: server closed the connection (GOAWAY)"},
		"a lost connection of HTTP/2": {errors.New("http2: client connection lost"), "connection lost"},
		"a broken connection": {errors.New("http: can't write HTTP request on broken connection"),
			"http: broken connection"},
		"a timeout":       {&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, "dial: i/o timeout"},
		"another failure": {errors.New("no such host"), "no such host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send := func(ctx context.Context) error {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://h/apis", nil)
				if err != nil {
					t.Fatal(err)
				}
				response, err := transport.Plain(broken{test.err, &atomic.Int64{}}, nil).RoundTrip(request)
				if err == nil {
					_ = response.Body.Close()
				}
				return err
			}
			err := send(t.Context())
			if utilnet.IsTimeout(err) || utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err) ||
				utilnet.IsHTTP2ConnectionLost(err) || err.Error() != test.want {
				t.Errorf("client-go recognizes %q, want %q", err, test.want)
			}
			if name == "another failure" && err != test.err { //nolint:errorlint // the same error
				t.Errorf("%v is another error", err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if err := send(ended); err != test.err { //nolint:errorlint // the same error
				t.Errorf("after the end of the run: %v", err)
			}
		})
	}
}
