package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

// Upgrade is one connection to a subresource of a pod, such as portforward or
// exec, that is upgraded from HTTP to WebSocket, or to SPDY for API servers
// before Kubernetes 1.31 and proxies that block WebSockets.
type Upgrade struct {
	// Config is the configuration for the clients of the connection.
	Config *rest.Config

	rejection error
}

// NewUpgrade returns an Upgrade with some settings. The connection is
// canceled at the end of ctx.
func NewUpgrade(ctx context.Context, settings *rest.Config) *Upgrade {
	u := &Upgrade{Config: rest.CopyConfig(settings)}
	u.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req.WithContext(ctx)) // dialers have no parameter for it
			u.rejection = nil                                 // of an attempt by WebSocket
			if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
				resp.Body, u.rejection, err = statusOf(req, resp.Body)
			}
			if redirect, ok := errors.AsType[*config.RedirectError](err); ok { // the SPDY client returns only its text
				u.rejection = redirect
			}
			if err != nil {
				return nil, err
			}
			return resp, nil
		})
	})
	return u
}

// To returns the address of a subresource of a pod, and the client that upgrades a connection to it to SPDY.
func (u *Upgrade) To(
	namespace, pod, subresource string,
) (address *url.URL, client http.RoundTripper, upgrader spdy.Upgrader, err error) {
	server, _, err := rest.DefaultServerUrlFor(u.Config)
	if err != nil {
		return nil, nil, nil, err
	}
	client, upgrader, err = spdy.RoundTripperFor(u.Config)
	return server.JoinPath("api/v1/namespaces", namespace, "pods", pod, subresource), client, upgrader, err
}

// Rejection returns the response of an API server that did not upgrade the
// connection, or otherwise err, which it caused.
func (u *Upgrade) Rejection(err error) error {
	if err != nil && u.rejection != nil {
		return u.rejection
	}
	return err
}

// NoWebSocket reports whether err is a failed upgrade to WebSocket, after which
// SPDY may work.
func NoWebSocket(err error) bool {
	return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

// statusOf returns the Status in the response of an API server that does not
// upgrade a connection, because the SPDY client returns only its message. It
// also returns the body to read again, which that client quotes in its error.
func statusOf(request *http.Request, body io.ReadCloser) (again io.ReadCloser, rejection, err error) {
	const maxBytes = 64 << 10
	data, err := io.ReadAll(io.LimitReader(body, maxBytes))
	// Close would read the rest of a larger body, which may have no end. Go closes the unused connection by itself.
	if len(data) < maxBytes {
		err = errors.Join(err, body.Close())
	}
	if err != nil {
		return nil, nil, err
	}
	text := printable.HideCredential(string(data), request.Header.Get("Authorization"))
	if status := (&reply{body: []byte(text)}).status(); status != nil {
		rejection = &apierrors.StatusError{ErrStatus: *status}
	} else {
		text = printable.Foreign(text)
	}
	return io.NopCloser(strings.NewReader(text)), rejection, nil
}
