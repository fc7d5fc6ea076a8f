package registry

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

// maxBody is the maximum size of a response in bytes. Registries limit manifests to 4 MiB.
const maxBody = 8 << 20

// guard is an http.RoundTripper below the library, which follows redirects of all its requests and falls back to HTTP
// without TLS for private addresses.
type guard struct {
	next        http.RoundTripper
	credentials bool // the library has credentials for the registry
}

// RoundTrip makes one request. With credentials, it does not send a request without TLS to another machine, and it
// follows a redirect to another server only for content: the other server could name an authorization server to which
// the library would send the credentials, and 307 and 308 repeat the refresh token in a body.
func (g guard) RoundTrip(request *http.Request) (*http.Response, error) {
	if g.credentials {
		first := request
		for first.Response != nil { // it caused the request
			first = first.Response.Request
		}
		content := strings.Contains(first.URL.Path, "/manifests/") || strings.Contains(first.URL.Path, "/blobs/")
		switch {
		case first.URL.Host != request.URL.Host && !content:
			return nil, fmt.Errorf("%s redirects to %s, which is not followed, because it can receive "+
				"the credentials", first.URL.Host, request.URL.Host)
		case request.URL.Scheme == "http" && !loopback(request.URL.Hostname()):
			return nil, errors.New("credentials are not sent without TLS, except to this machine")
		}
	}
	response, err := g.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = &limitedBody{response.Body, maxBody}
	if response.StatusCode < http.StatusBadRequest {
		return response, nil
	}
	text, err := io.ReadAll(response.Body) // can be quoted in an error
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	shown := printable.HideCredential(string(text), request.Header.Get("Authorization"))
	response.Body = io.NopCloser(strings.NewReader(shown))
	return response, nil
}

func loopback(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host).IsLoopback()
}

// limitedBody is a body with an error after a number of bytes.
type limitedBody struct {
	io.ReadCloser

	left int
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the response is larger than %d MiB", maxBody>>20)
	}
	return n, err
}
