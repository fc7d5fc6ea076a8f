// Package transport connects to an API server: it judges and repeats failed attempts, knows which writes may have been
// executed, and distrusts what the server sends.
package transport

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/utils/clock"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

// Transport sends the requests to one API server. It repeats those with temporary failures, limits and checks the
// responses, and rewords failures of the connection.
type Transport struct {
	next    http.RoundTripper // retries, or another one in tests
	plugin  *config.Plugin    // nil for none
	retries *retrier
}

// New returns the transport to a server. next makes one request; plugin is the credential plugin, nil for none.
func New(
	next http.RoundTripper, plugin *config.Plugin, clock clock.WithDelayedExecution, server *url.URL, limits Limits,
) Transport {
	retries := newRetrier(next, clock, server, limits)
	return Transport{next: retries, plugin: plugin, retries: retries}
}

// Hide replaces the credential of the last request in a text.
func (t Transport) Hide(text string) string {
	authorization, _ := t.retries.authorization.Load().(string)
	return printable.HideCredential(text, authorization)
}

// RoundTrip makes one request. The time that a credential plugin takes does not count as that of the server.
func (t Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if t.plugin != nil {
		if err := t.plugin.Login(request.Context()); err != nil {
			return nil, err
		}
	}
	response, err := t.next.RoundTrip(request)
	if err == nil && strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
		_ = response.Body.Close()
		return nil, fmt.Errorf("the response is a web page (%s), and a Kubernetes API server does not return web "+
			"pages; another server or a gateway uses this address", config.StatusOf(response))
	}
	if err == nil {
		return response, nil
	}
	if t.plugin != nil {
		if failed, ok := errors.AsType[*config.Error](t.plugin.Explain(err)); ok {
			return nil, failed // it does not mean that the server is unreachable
		}
	}
	// client-go retries these errors, and treats some of them as the normal end of a
	// watch: it then returns an empty watch without an error, forever. The retries
	// have been made by now, so client-go must not recognize the errors.
	if known := request.Context().Err() == nil; known && (utilnet.IsTimeout(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)) {
		return nil, opaque(err)
	}
	return nil, err
}

// opaque rewords a network error so that client-go does not recognize it.
func opaque(err error) error {
	text := strings.NewReplacer(
		"connection reset by peer", "connection reset", "use of closed network connection", "connection closed",
		"server sent GOAWAY and closed the connection", "server closed the connection (GOAWAY)",
		"http2: client connection lost", "connection lost", "can't write HTTP request on broken connection",
		"broken connection",
	).Replace(err.Error())
	if text == io.EOF.Error() {
		text = "the connection was closed before a response was received (EOF)"
	}
	return errors.New(text)
}
