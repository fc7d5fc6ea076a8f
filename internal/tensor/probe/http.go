package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Web is what is probed over HTTP.
type Web struct {
	// URL of the endpoint; /health is asked for unless it has a path.
	URL string
	// Dialer makes connections, through a port-forward for example. Default: TCP.
	Dialer func(ctx context.Context, network, address string) (net.Conn, error)
	// Timeout is for all of it. Default 10 s.
	Timeout time.Duration
}

// HTTP asks an endpoint for its health. 200 to 299 is SERVING; another answer
// is NOT_SERVING.
func HTTP(ctx context.Context, w Web) Result {
	if w.Timeout <= 0 {
		w.Timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL, http.NoBody)
	if err != nil {
		return Result{Status: Failed, Detail: err.Error()}
	}
	if strings.Trim(req.URL.Path, "/") == "" {
		req.URL.Path = "/health"
	}
	dial := w.Dialer
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	connected := time.Time{}
	client := http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dial(ctx, network, address)
				if err == nil {
					connected = time.Now()
				}
				return conn, err
			},
		},
		// The endpoint itself is to be healthy, not where it points to.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return webFailure(ctx, err, !connected.IsZero())
	}
	defer resp.Body.Close()
	r := Result{Status: Serving, Latency: time.Since(connected)}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
		r.Status, r.Detail = NotServing, fmt.Sprintf("%s answered %s: %q", req.URL.Path, resp.Status, text)
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

// isNet says whether a connection failed, rather than what came over it.
func isNet(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
