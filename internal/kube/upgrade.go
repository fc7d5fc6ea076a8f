package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
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
			return resp, err
		})
	})
	return u
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
// also returns the body to read again.
func statusOf(request *http.Request, body io.ReadCloser) (again io.ReadCloser, rejection, err error) {
	const maxBytes = 64 << 10
	data, err := io.ReadAll(io.LimitReader(body, maxBytes))
	if err := errors.Join(err, body.Close()); err != nil {
		return nil, nil, err
	}
	data = []byte(printable.HideCredential(string(data), request.Header.Get("Authorization")))
	var status metav1.Status
	if json.Unmarshal(data, &status) == nil && status.Kind == "Status" {
		rejection = &apierrors.StatusError{ErrStatus: status}
	}
	return io.NopCloser(bytes.NewReader(data)), rejection, nil
}
