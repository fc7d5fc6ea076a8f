package datasources_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// kubelet is a node whose pods are simulated by this process: their ports are those of
// 127.0.0.1. The API server connects to it like to any kubelet. It serves port-forwards
// with the same code as kubelets and container runtimes.
type kubelet struct {
	on   *acctest.Cluster
	node string

	mu   sync.Mutex
	pods []string // targets of the port-forwards, in order
	// gate is called before each connection, unless it is nil.
	gate func()
}

// startKubelet creates a node, which is deleted at the end of the test.
func startKubelet(t *testing.T, on *acctest.Cluster, ns string) *kubelet {
	t.Helper()
	k := &kubelet{on: on, node: "kubelet-" + ns}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/portForward/{namespace}/{pod}", func(w http.ResponseWriter, r *http.Request) {
		pod := r.PathValue("pod")
		k.mu.Lock()
		k.pods = append(k.pods, pod)
		k.mu.Unlock()
		portforward.ServePortForward(w, r, k, pod, "", nil, time.Minute, time.Minute,
			[]string{portforward.ProtocolV1Name})
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{k.certificate(t)}}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.ServeTLS(listener, "", "")
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	on.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata: {name: %s}\n", k.node))
	t.Cleanup(func() { on.Kubectl(t, "delete", "node", k.node) })
	on.Kubectl(t, "patch", "node", k.node, "--subresource=status", "--type=merge", "-p", fmt.Sprintf(
		`{"status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": `+
			`{"kubeletEndpoint": {"Port": %d}}}}`,
		listener.Addr().(*net.TCPAddr).Port))
	return k
}

// certificate returns a serving certificate of the node, signed by the cluster
// (https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers).
func (k *kubelet) certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:     pkix.Name{CommonName: "system:node:" + k.node, Organization: []string{"system:nodes"}},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	k.on.Apply(t, fmt.Sprintf(`
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: %s}
spec:
  signerName: kubernetes.io/kubelet-serving
  usages: [digital signature, server auth]
  request: %s
`, k.node,
		base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}))),
		"--as=system:node:"+k.node, "--as-group=system:nodes", "--as-group=system:masters")
	t.Cleanup(func() { k.on.Kubectl(t, "delete", "csr", k.node) })
	k.on.Kubectl(t, "certificate", "approve", k.node)
	k.on.Kubectl(t, "wait", "csr/"+k.node, "--for=jsonpath={.status.certificate}", "--timeout=60s")
	text, err := base64.StdEncoding.DecodeString(k.on.Kubectl(t, "get", "csr", k.node, "-o",
		"jsonpath={.status.certificate}"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	return tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}
}

// PortForward connects a stream to a port of this process.
func (k *kubelet) PortForward(ctx context.Context, pod, uid string, port int32, stream io.ReadWriteCloser) error {
	k.mu.Lock()
	gate := k.gate
	k.mu.Unlock()
	if gate != nil {
		gate()
	}
	return kubetest.Loopback{}.PortForward(ctx, pod, uid, port, stream)
}

// forwarded returns the targets of the port-forwards so far.
func (k *kubelet) forwarded() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string{}, k.pods...)
}

// run creates a ready pod on the node, with the label app and minimal permissions. The
// node sends no heartbeats. The pod tolerates that, because it would otherwise be
// evicted after five minutes, and tests can take longer.
func (k *kubelet) run(t *testing.T, ns, name, app string) {
	t.Helper()
	k.on.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s, labels: {app: %s}}
spec:
  nodeName: %s
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 0
  tolerations: [{operator: Exists}]
  containers: [{name: server, image: example.com/server}]
`, name, ns, app, k.node))
	k.on.Kubectl(t, "patch", "pod", name, "-n", ns, "--subresource=status", "--type=merge", "-p",
		`{"status": {"phase": "Running", "podIP": "10.80.255.1", "podIPs": [{"ip": "10.80.255.1"}], "conditions": `+
			`[{"type": "Ready", "status": "True"}]}}`)
}

// expose creates a Service for the pods of an app, whose port leads to a port of this
// process.
func (k *kubelet) expose(t *testing.T, ns, app, portName string, port, target int) {
	t.Helper()
	k.on.Apply(t, service(ns, app, app, portName, port, target))
}

func service(ns, name, app, portName string, port, target int) string {
	return strings.TrimSpace(fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: %s}
spec:
  selector: {app: %s}
  ports: [{name: %s, port: %d, targetPort: %d}]
`, name, ns, app, portName, port, target)) + "\n"
}
