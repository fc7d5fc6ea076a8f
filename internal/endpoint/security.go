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

// Config returns the TLS configuration. An error is about CACertificate, and a sentence without its subject.
func (s Security) Config() (*tls.Config, error) {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: s.ServerName,
		InsecureSkipVerify: s.Insecure, //nolint:gosec // only if the user requests it
	}
	if s.CACertificate != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(s.CACertificate)) {
			return nil, errors.New("contains no certificate in PEM format")
		}
	}
	return config, nil
}

// Options returns the options of a gRPC client for a route.
func (s Security) Options(r Route, dial *Dialer) (tensor.Options, error) {
	options := tensor.Options{ComputeID: r.ComputeID, Dialer: dial.Dial, Token: s.Token}
	if s.TLS {
		config, err := s.Config()
		if err != nil {
			return options, err
		}
		options.Credentials = credentials.NewTLS(config)
	}
	return options, nil
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
