package manager

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// server serves webhooks on a free loopback port, with a certificate that exists
// in memory only. The server of controller-runtime cannot choose a free port.
type server struct {
	webhook.Server
	listener net.Listener
	http     *http.Server
	ca       []byte // PEM; the API server verifies the certificate with it
}

func newServer() (*server, error) {
	certificate, ca, err := newCertificate(net.IPv4(127, 0, 0, 1))
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	return &server{
		Server:   webhook.NewServer(webhook.Options{WebhookMux: mux}),
		listener: listener,
		http: &http.Server{
			Handler:           mux,
			TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13},
			ReadHeaderTimeout: 10 * time.Second,
		},
		ca: ca,
	}, nil
}

// url returns the URL of a path of the server.
func (s *server) url(path string) string { return "https://" + s.listener.Addr().String() + path }

// Start serves until the context ends.
func (s *server) Start(ctx context.Context) error {
	stopped := make(chan error, 1)
	defer context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		stopped <- s.http.Shutdown(ctx)
	})()
	if err := s.http.ServeTLS(s.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

// newCertificate creates a self-signed certificate for a server at the address.
func newCertificate(address net.IP) (certificate tls.Certificate, ca []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "webhooks"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(1, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses:           []net.IP{address},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	certificate = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
