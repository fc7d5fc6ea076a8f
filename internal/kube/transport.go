package kube

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
)

// plainErrors is an http.RoundTripper that rewords failures of the connection.
type plainErrors struct {
	next   http.RoundTripper
	plugin *clientcmdapi.ExecConfig // nil for none
}

// RoundTrip makes one request.
func (p plainErrors) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := p.next.RoundTrip(request)
	if err == nil && strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
		_ = response.Body.Close()
		return nil, fmt.Errorf("the response is a web page (%s), and a Kubernetes API server does not return web "+
			"pages; another server or a gateway uses this address", response.Status)
	}
	if err == nil {
		return response, nil
	}
	// client-go has no error type for a failed credential plugin, so it is recognized
	// by its text. It does not mean that the server is unreachable.
	if cause, ok := strings.CutPrefix(err.Error(), "getting credentials: "); ok && p.plugin != nil {
		return nil, &config.Error{Attribute: "exec", Err: fmt.Errorf(
			"the credential plugin %s did not return credentials: %s\n\n"+
				"Next step: Run the plugin by hand. Its messages are in the log of the provider (TF_LOG=debug)",
			p.plugin.Command,
			cause)}
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
