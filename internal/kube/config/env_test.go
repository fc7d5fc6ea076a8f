package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// testEnv is the environment of one test: a home directory, the directory of a pod's service account, and variables.
// It contains nothing of the environment of the test process.
type testEnv struct {
	t    *testing.T
	home string
	pod  string
	vars map[string]string
}

func newTestEnv(t *testing.T) testEnv {
	t.Helper()
	return testEnv{t: t, home: t.TempDir(), pod: t.TempDir(), vars: map[string]string{}}
}

func (e testEnv) env() Env {
	return Env{Getenv: func(name string) string { return e.vars[name] }, Home: e.home, InClusterDir: e.pod}
}

// write writes a file into the home directory and returns its path.
func (e testEnv) write(name, text string) string {
	e.t.Helper()
	return writeFile(e.t, filepath.Join(e.home, name), text)
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// inPod sets up the environment of a process in a pod.
func (e testEnv) inPod() {
	e.t.Helper()
	e.vars["KUBERNETES_SERVICE_HOST"], e.vars["KUBERNETES_SERVICE_PORT"] = "10.96.0.1", "443"
	writeFile(e.t, filepath.Join(e.pod, "token"), "pod-token\n")
	writeFile(e.t, filepath.Join(e.pod, "namespace"), "pod-namespace\n")
	writeFile(e.t, filepath.Join(e.pod, "ca.crt"), newPair(e.t).certificate)
}

// kubeconfigText returns a kubeconfig whose cluster, user and context have the same name.
func kubeconfigText(name string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: %[1]s
clusters: [{name: %[1]s, cluster: {server: "https://%[1]s.example.com:6443"}}]
users: [{name: %[1]s, user: {token: %[1]s-token}}]
contexts: [{name: %[1]s, context: {cluster: %[1]s, user: %[1]s, namespace: %[1]s-namespace}}]
`, name)
}

// pair is a self-signed certificate and its key, as PEM.
type pair struct{ certificate, key string }

func newPair(t *testing.T) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encodedKey, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		key:         string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encodedKey})),
	}
}

// connection contains the server, the token and the namespace of a resolved configuration.
type connection struct{ Host, Token, Namespace string }

// mustFail resolves an invalid configuration. It checks that the error names the attribute and contains each text, and
// does not mention the server that client-go uses without a configuration.
func mustFail(t *testing.T, c Config, attribute string, texts ...string) *Error {
	t.Helper()
	resolved, err := c.Resolve()
	var failure *Error
	if !errors.As(err, &failure) {
		t.Fatalf("got %+v and the error %v, want an *Error", resolved.REST, err)
	}
	if failure.Attribute != attribute {
		t.Errorf("the error is about attribute %q, want %q", failure.Attribute, attribute)
	}
	for _, text := range texts {
		if !strings.Contains(failure.Error(), text) {
			t.Errorf("the error does not contain %q:\n%v", text, failure)
		}
	}
	for _, text := range []string{"localhost", "KUBERNETES_MASTER"} {
		if strings.Contains(failure.Error(), text) {
			t.Errorf("the error mentions %s:\n%v", text, failure)
		}
	}
	return failure
}
