package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestKubeconfigReachesServer uses the certificates for a server that requires client
// certificates, and for a client that has only a kubeconfig.
func TestKubeconfigReachesServer(t *testing.T) {
	t.Parallel()
	ca := newCA(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		_, _ = w.Write([]byte(subject.CommonName + " of " + subject.Organization[0]))
	}))
	pair := issue(t, ca, Identity{CommonName: "server", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	keyPair, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(ca.Cert)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{keyPair}, ClientCAs: clients,
		ClientAuth: tls.RequireAndVerifyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)

	client := issue(t, ca, Identity{CommonName: "admin", Organizations: []string{"system:masters"}})
	if got := get(t, server.URL, ca, client); got != "admin of system:masters" {
		t.Errorf("the server received %q", got)
	}
	stranger := issue(t, newCA(t), Identity{CommonName: "admin"})
	if got := get(t, server.URL, ca, stranger); got != "" {
		t.Errorf("client of another authority: %q", got)
	}
	if got := get(t, server.URL, newCA(t), client); got != "" {
		t.Errorf("client that trusts another authority: %q", got)
	}
}

func TestWriteToKeepsKeysPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile, err := newCA(t).WriteTo(dir, "ca")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.LoadX509KeyPair(certFile, keyFile); err != nil {
		t.Errorf("the files do not match: %v", err)
	}
	info, err := os.Stat(keyFile)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v; want mode 600", info.Mode(), err)
	}
}

func TestKeysDiffer(t *testing.T) {
	t.Parallel()
	a, errA := NewKey()
	b, errB := NewKey()
	if errA != nil || errB != nil || bytes.Equal(a, b) {
		t.Errorf("two keys: %v, %v, equal: %t", errA, errB, bytes.Equal(a, b))
	}
}

func newCA(t *testing.T) *CA {
	t.Helper()
	ca, err := NewCA("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func issue(t *testing.T, ca *CA, id Identity) Pair {
	t.Helper()
	pair, err := ca.Issue(id, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// get returns the server's response to a client with the kubeconfig, or "" if the connection fails.
func get(t *testing.T, url string, ca *CA, client Pair) string {
	t.Helper()
	text, err := Kubeconfig(url, "user", ca.Cert, client)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(httpClient.CloseIdleConnections)
	response, err := httpClient.Get(url)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body := make([]byte, 100)
	n, _ := response.Body.Read(body)
	return string(body[:n])
}

func TestCertificatesOfALoadedCAAreTrusted(t *testing.T) {
	t.Parallel()
	dir, first := t.TempDir(), newCA(t)
	if _, err := LoadCA(dir, "ca"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in an empty directory: %v", err)
	}
	if _, _, err := first.WriteTo(dir, "ca"); err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadCA(dir, "ca")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := loaded.Issue(Identity{CommonName: "admin"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	issued, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(first.Cert)
	if _, err := issued.Leaf.Verify(x509.VerifyOptions{Roots: roots,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	if !loaded.ValidUntil().Equal(first.ValidUntil()) {
		t.Errorf("valid until %s; want %s", loaded.ValidUntil(), first.ValidUntil())
	}
}
