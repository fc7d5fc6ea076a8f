package endpoint

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"

	"google.golang.org/grpc/credentials"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
)

// Security describes how the requests to an endpoint are encrypted and authenticated. With the zero value, only a URL
// with the scheme https is encrypted, and the certificate authorities of the system are trusted.
type Security struct {
	TLS           bool
	CACertificate string // certificates in PEM format to trust instead of those of the system, or ""
	ServerName    string // name in the server's certificate, or "" for the host of the address
	Insecure      bool   // the server's certificate is not verified
	Token         string // bearer token of each request, or ""
}

// Check returns an error about CACertificate, a sentence without its subject. The other methods require that there is
// none.
func (s Security) Check() error {
	if s.CACertificate != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(s.CACertificate)) {
		return errors.New("contains no certificate in PEM format")
	}
	return nil
}

// config returns the TLS configuration.
func (s Security) config() *tls.Config {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: s.ServerName,
		InsecureSkipVerify: s.Insecure, //nolint:gosec // only if the user requests it
	}
	if s.CACertificate != "" {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM([]byte(s.CACertificate))
	}
	return config
}

// Options returns the options of a gRPC client for a route.
func (s Security) Options(r Route, dial *Dialer) tensor.Options {
	options := tensor.Options{ComputeID: r.ComputeID, Dialer: dial.Dial, Token: s.Token}
	if s.TLS {
		options.Credentials = credentials.NewTLS(s.config())
	}
	return options
}

// ExposesToken reports whether requests on a route would send the token without encryption. A port-forward is encrypted
// up to the node of the pod.
func (s Security) ExposesToken(r Route) bool {
	return s.Token != "" && !s.TLS && !r.Forwarded() && !strings.HasPrefix(r.URL, "https://")
}

// url returns the URL with the scheme that TLS requires.
func (s Security) url(address string) string {
	if rest, plain := strings.CutPrefix(address, "http://"); plain && s.TLS {
		return "https://" + rest
	}
	return address
}
