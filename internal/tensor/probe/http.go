package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

// Web is an endpoint to probe over HTTP.
type Web struct {
	// URL of the endpoint. Without a path, /health is requested.
	URL string
	// Dialer opens connections, for example through a port-forward. Defaults to TCP.
	Dialer func(ctx context.Context, address string) (net.Conn, error)
	// TLS configures a connection to an https URL. Defaults to the certificate authorities of the system.
	TLS *tls.Config
	// Token is a bearer token that the request carries, or "".
	Token string
	// Timeout is the timeout of the whole probe. Defaults to 10 s.
	Timeout time.Duration
}

// HTTP requests the health of an endpoint. The status codes 200 to 299 are SERVING,
// and any other response is NOT_SERVING.
func HTTP(ctx context.Context, w Web) Result {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(w.Timeout, defaultTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL, http.NoBody)
	if err != nil {
		return Result{Status: Failed, Detail: err.Error()}
	}
	if strings.Trim(req.URL.Path, "/") == "" {
		req.URL.Path = "/health"
	}
	if w.Token != "" {
		req.Header.Set("Authorization", "Bearer "+w.Token)
	}
	dial := &Dialer{Open: w.Dialer}
	client := http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true, TLSClientConfig: w.TLS,
			DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
				return dial.Dial(ctx, address)
			},
		},
		// Redirects are not followed: the endpoint itself must be healthy.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return webFailure(ctx, err, dial.Connected())
	}
	defer resp.Body.Close()
	r := Result{Status: Serving, Latency: time.Since(dial.since())}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		const quoted = 200
		text, _ := io.ReadAll(io.LimitReader(resp.Body, int64(quoted+len(w.Token))))
		r.Status, r.Detail = NotServing, fmt.Sprintf("%s responded with %d %s: %q", req.URL.Path, resp.StatusCode,
			http.StatusText(resp.StatusCode), printable.Cut(printable.Hide(string(text), w.Token), quoted))
	}
	return r
}

func webFailure(ctx context.Context, err error, connected bool) Result {
	late := ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)
	switch {
	case connected && late:
		return Result{Status: Timeout, Detail: err.Error()}
	case connected && !isNet(err):
		return Result{Status: Failed, Detail: err.Error()}
	default:
		return Result{Status: Unreachable, Detail: err.Error()}
	}
}

// isNet reports whether the connection failed, rather than the protocol on it.
func isNet(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
