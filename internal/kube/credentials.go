package kube

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// check finds the mistakes in attributes that need no file to be seen. Its
// errors name the attribute, and never show a credential.
func (c Config) check() error {
	for _, field := range []struct{ attribute, variable, text string }{
		{"cluster_ca_certificate", "KUBE_CLUSTER_CA_CERT_DATA", c.ClusterCACertificate},
		{"client_certificate", "KUBE_CLIENT_CERT_DATA", c.ClientCertificate},
		{"client_key", "KUBE_CLIENT_KEY_DATA", c.ClientKey},
	} {
		if err := checkPEM(field.text); err != nil {
			return configError(field.attribute, "%s (or %s) %w", field.attribute, field.variable, err)
		}
	}
	if err := c.checkPair(); err != nil {
		return err
	}
	if strings.ContainsAny(strings.TrimSpace(c.Token), " \t\r\n") {
		return configError("token", "token (or KUBE_TOKEN) has blanks or line breaks inside, which no token has; it is not shown here")
	}
	if c.Insecure != nil && *c.Insecure && c.ClusterCACertificate != "" {
		return configError("insecure", "insecure (or KUBE_INSECURE) and cluster_ca_certificate (or KUBE_CLUSTER_CA_CERT_DATA) exclude each other: the server's certificate is checked, or it is not")
	}
	if err := checkProxy(c.ProxyURL); err != nil {
		return configError("proxy_url", "proxy_url (or KUBE_PROXY_URL): %w", err)
	}
	return nil
}

// checkPair requires a client certificate and its key to come together.
func (c Config) checkPair() error {
	switch {
	case c.ClientCertificate == "" && c.ClientKey == "":
		return nil
	case c.ClientKey == "":
		return configError("client_key", "client_certificate is set, but client_key (or KUBE_CLIENT_KEY_DATA) is not; give both")
	case c.ClientCertificate == "":
		return configError("client_certificate", "client_key is set, but client_certificate (or KUBE_CLIENT_CERT_DATA) is not; give both")
	}
	if _, err := tls.X509KeyPair([]byte(c.ClientCertificate), []byte(c.ClientKey)); err != nil {
		return configError("client_certificate", "client_certificate and client_key cannot be used together: %w", err)
	}
	return nil
}

// checkPEM recognizes what is commonly given instead of PEM.
func checkPEM(text string) error {
	if text == "" {
		return nil
	}
	if block, _ := pem.Decode([]byte(text)); block != nil {
		return nil
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if block, _ := pem.Decode(decoded); err == nil && block != nil {
		return errors.New("is base64 of a PEM text: wrap it in base64decode(…)")
	}
	if !strings.Contains(text, "\n") && len(text) < 1024 {
		return errors.New("is not a PEM text, which starts with -----BEGIN; for a path, write file(\"…\")")
	}
	return errors.New("is not a PEM text, which starts with -----BEGIN at the beginning of a line")
}

func checkProxy(proxy string) error {
	u, err := url.Parse(proxy)
	if proxy == "" || (err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "socks5")) {
		return nil
	}
	return fmt.Errorf("%q is not a proxy; it must be a URL with the scheme http, https or socks5, such as http://proxy.example.com:3128", withoutUser(proxy))
}

// serverURL checks the address of an API server, and gives one without a
// scheme the scheme https: client-go would take http, and then leave out the
// credentials without a word.
func serverURL(address string) (string, error) {
	full := address
	if !strings.Contains(full, "://") {
		full = "https://" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Hostname() == "" || u.User != nil || (u.Scheme != "https" && u.Scheme != "http") {
		return "", fmt.Errorf("%q is not an address of an API server; it looks like https://10.0.0.1:6443", withoutUser(address))
	}
	return full, nil
}

// withoutUser hides the user and password of something that should be a URL.
func withoutUser(text string) string {
	return regexp.MustCompile(`^([^@]*//)?.*@`).ReplaceAllString(text, "$1***@")
}

// checkPaths recognizes a text that was given in place of a path. It may be
// full of credentials, so it must not be shown.
func checkPaths(paths []string) error {
	const longest = 1024
	for _, path := range paths {
		if strings.Contains(path, "\n") || len(path) > longest {
			return errors.New("holds a text that is no path, perhaps the kubeconfig itself; write that to a file, and give the file's path")
		}
	}
	return nil
}

// plainErrors is an http.RoundTripper that makes failures on the way to the
// server say what they are.
type plainErrors struct {
	next   http.RoundTripper
	plugin *clientcmdapi.ExecConfig // nil for none
}

// RoundTrip makes one request.
func (p plainErrors) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := p.next.RoundTrip(request)
	if err == nil && strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
		_ = response.Body.Close()
		return nil, fmt.Errorf("the answer is a web page (%s), which no Kubernetes API server gives; something else is at this address, or on the way to it", response.Status)
	}
	if err == nil {
		return response, nil
	}
	// client-go gives the failure of a credential plugin no type of its own, but
	// a text that is not the server's. It is none of a server that cannot be reached.
	if cause, ok := strings.CutPrefix(err.Error(), "getting credentials: "); ok && p.plugin != nil {
		return nil, configError("exec", "the credential plugin %s gave no credentials: %s\n\nRun it by hand to see what it says; its own messages are in Terraform's log (TF_LOG=debug).", p.plugin.Command, cause)
	}
	// client-go repeats what fails in these ways, and takes some of them for the
	// normal end of a watch: it then returns an empty one and no error, for ever.
	// All that may be repeated has been by now, so it must not see what they are.
	if known := request.Context().Err() == nil; known && (utilnet.IsTimeout(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)) {
		return nil, opaque(err)
	}
	return nil, err
}

// opaque is an error of the network in words that client-go does not look for.
func opaque(err error) error {
	text := strings.NewReplacer(
		"connection reset by peer", "connection reset", "use of closed network connection", "connection closed",
		"server sent GOAWAY and closed the connection", "server closed the connection (GOAWAY)",
		"http2: client connection lost", "connection lost", "can't write HTTP request on broken connection", "broken connection",
	).Replace(err.Error())
	if errors.Is(err, io.EOF) && text == io.EOF.Error() {
		text = "the connection was closed before an answer came (EOF)"
	}
	return errors.New(text)
}

// WrappedRoundTripper lets apimachinery see the transport.
func (p plainErrors) WrappedRoundTripper() http.RoundTripper { return p.next }
