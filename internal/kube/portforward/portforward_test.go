package portforward

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// source selects a pod by its name.
func source(pod string) kube.PodSource { return kube.PodSource{Namespace: "ml", Pod: pod} }

// clusterWith returns a client of an API server that serves only pods and their port-forwards. It serves the streams
// with the code of kubelets and container runtimes.
func clusterWith(t *testing.T, pods ...*corev1.Pod) *kube.Cluster {
	t.Helper()
	api := kubetest.API{Answer: func(verb, path string, _ *http.Request) (int, any) {
		for _, pod := range pods {
			if verb == "get" && strings.HasSuffix(path, "/pods/"+pod.Name) {
				return http.StatusOK, pod
			}
		}
		if strings.HasSuffix(path, "/portforward") {
			// like an API server without tunnels by WebSocket
			return kubetest.Failing(http.StatusBadRequest, metav1.StatusReasonBadRequest)
		}
		return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if !strings.HasSuffix(request.URL.Path, "/portforward") || request.Method == http.MethodGet {
			api.ServeHTTP(w, request)
			return
		}
		portforward.ServePortForward(w, request, kubetest.Loopback{}, "pod", "", nil, time.Minute, time.Minute,
			[]string{portforward.ProtocolV1Name})
	}))
	t.Cleanup(server.Close)
	return kube.NewCluster(t.Context(), config.Config{Host: server.URL, Token: "x"})
}

// echo is a server that returns the received data until the client closes.
func echo(t *testing.T) (port int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return int32(listener.Addr().(*net.TCPAddr).Port)
}

// mustEcho sends more data than all buffers on the path can contain, and compares the returned data.
func mustEcho(t *testing.T, conn interface {
	net.Conn
	CloseWrite() error
}) {
	t.Helper()
	sent := make([]byte, 1<<20)
	_, _ = rand.Read(sent)
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("%d of %d bytes were returned, with the error %v", len(got), len(sent), err)
	}
}

func TestDialPodTransfersDataAndClosesInBothDirections(t *testing.T) {
	t.Parallel()
	conn, err := DialPod(t.Context(), clusterWith(t, kubetest.RunningPod("trainer-0")), "ml", "trainer-0", echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	mustEcho(t, conn.(*podConn))
}

func TestDialPodReportsErrorsOfTheKubelet(t *testing.T) {
	t.Parallel()
	address, err := net.ResolveTCPAddr("tcp", kubetest.UnusedAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	unused := int32(address.Port)
	conn, err := DialPod(t.Context(), clusterWith(t, kubetest.RunningPod("trainer-0")), "ml", "trainer-0", unused)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	var failed *net.OpError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "connection refused") ||
		!strings.Contains(err.Error(), fmt.Sprintf("ml/trainer-0:%d", unused)) {
		t.Errorf("the first read ends with %v", err)
	}
}

// If its connection to the port fails immediately, a kubelet may reset the data
// stream before it has replied to its opening.
func TestDialPodReportsErrorsOfTheKubeletBeforeTheStreamIsOpen(t *testing.T) {
	t.Parallel()
	const failure = "error forwarding port 80: connection refused"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodGet {
			w.WriteHeader(http.StatusBadRequest) // no WebSockets
			return
		}
		if _, err := httpstream.Handshake(request, w, []string{portforward.ProtocolV1Name}); err != nil {
			return
		}
		var errorStream httpstream.Stream
		conn := spdy.NewResponseUpgrader().UpgradeResponse(w, request,
			func(stream httpstream.Stream, _ <-chan struct{}) error {
				if errorStream == nil {
					errorStream = stream
					return nil
				}
				_, _ = io.WriteString(errorStream, failure)
				_ = errorStream.Close()
				return errors.New("reset without a reply")
			})
		if conn != nil {
			<-conn.CloseChan()
		}
	}))
	t.Cleanup(server.Close)
	conn, err := DialPod(t.Context(), kube.NewCluster(t.Context(), config.Config{Host: server.URL, Token: "x"}), "ml",
		"trainer-0", 80)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Read(make([]byte, 1))
	if _, ok := errors.AsType[*net.OpError](err); !ok || !strings.Contains(err.Error(), failure) {
		t.Errorf("the first read ends with %v", err)
	}
	if _, err := conn.Write([]byte("x")); err == nil {
		t.Error("a write succeeds")
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

func TestDialPodNamesTheMissingPermission(t *testing.T) {
	t.Parallel()
	const message = `pods "trainer-0" is forbidden: User "eve" cannot create resource "pods/portforward" in API ` +
		`group "" in the namespace "ml"`
	server := httptest.NewServer(kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
		return http.StatusForbidden, metav1.Status{Reason: metav1.StatusReasonForbidden, Message: message}
	}})
	t.Cleanup(server.Close)
	cluster := kube.NewCluster(t.Context(), config.Config{Host: server.URL, Token: "x"})
	_, err := DialPod(t.Context(), cluster, "ml", "trainer-0", 80)
	if kube.ClassOf(err) != kube.Denied {
		t.Fatalf("%v is of class %v", err, kube.ClassOf(err))
	}
	var failure *kube.Error
	errors.As(err, &failure)
	summary, cause := failure.Explain()
	if summary != "No permission to port-forward to Pod ml/trainer-0" ||
		!strings.Contains(cause.Summary, `"pods/portforward"`) {
		t.Errorf("got %s:\n%s", summary, cause.Summary)
	}
}

func TestDialPodCanBeCanceledIfTheServerDoesNotRespond(t *testing.T) {
	t.Parallel()
	stalled := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stalled }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(stalled) })
	cluster := kube.NewCluster(t.Context(), config.Config{Host: server.URL})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := DialPod(ctx, cluster, "ml", "trainer-0", 80)
		done <- err
	}()
	cancel()
	if err := <-done; kube.ClassOf(err) != kube.Canceled {
		t.Errorf("unexpected error: %v", err)
	}
}

func TestDialExplainsWhyNoPodCanBeUsed(t *testing.T) {
	t.Parallel()
	pending := kubetest.RunningPod("pending")
	pending.Status.Phase = corev1.PodPending
	portless := kubetest.RunningPod("unnamed-0")
	cluster := clusterWith(t, pending, portless)
	for name, test := range map[string]struct {
		backend Backend
		want    string
	}{
		"a pod that is not running": {Backend{PodSource: source("pending"), Port: intstr.FromInt32(80)},
			"pod ml/pending is not running: it is Pending"},
		"a pod without ports": {Backend{PodSource: source("unnamed-0")}, "does not declare a port"},
		"an unknown port name": {Backend{PodSource: source("unnamed-0"), Port: intstr.FromString("grpc")},
			`has no port named "grpc"`},
		"a missing pod": {Backend{PodSource: source("gone")}, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Dial(t.Context(), cluster, test.backend); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v does not contain %q", err, test.want)
			}
		})
	}
}

// The test inspects all goroutines of the process, so it is not parallel.
func TestForwardClosesAllConnections(t *testing.T) {
	port := echo(t)
	cluster := clusterWith(t, kubetest.RunningPod("trainer-0"))
	forward, err := Listen(t.Context(), cluster, Backend{PodSource: source("trainer-0"),
		Port: intstr.FromInt32(port)}, 0, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", forward.Port())
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			mustEcho(t, conn.(*net.TCPConn))
		})
	}
	clients.Wait()
	if tunnels(t) == "" {
		t.Fatal("the goroutines of an open tunnel are not recognized")
	}
	idle, err := net.Dial("tcp", address) // closed without waiting for it
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	if _, err := idle.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := idle.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := forward.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("the local port is still open")
	}
	if _, err := idle.Read(make([]byte, 1)); err == nil {
		t.Error("a connection is still open")
	}
	for range 500 { // the server closes its connections asynchronously
		if tunnels(t) == "" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("still running:\n%s", tunnels(t))
}

// tunnels returns the goroutines of port-forwards.
func tunnels(t *testing.T) string {
	t.Helper()
	stacks := make([]byte, 4<<20)
	var found []string
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		for _, part := range []string{"spdystream", "portforward.(*podConn)", "portforward.Listen", "portforward.serve",
			"portforward.untilDone"} {
			if strings.Contains(stack, part) {
				found = append(found, stack)
				break
			}
		}
	}
	return strings.Join(found, "\n\n")
}

func TestDialPodFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	c := kube.NewCluster(t.Context(), config.Config{Host: kubetest.Redirecting(t), Token: "x"})
	_, err := DialPod(t.Context(), c, "ml", "trainer-0", 80)
	if kube.ClassOf(err) != kube.Unreachable || !strings.Contains(err.Error(), "redirect (307") {
		t.Errorf("%v is of class %v", err, kube.ClassOf(err))
	}
}

// The API server resolves the port of a Service in the same way (FindPort of k8s.io/kubernetes/pkg/api/v1/pod).
func TestPortOfASidecarHasAName(t *testing.T) {
	t.Parallel()
	pod := kubetest.RunningPod("trainer-0")
	pod.Spec.InitContainers = []corev1.Container{
		{Name: "setup", Ports: []corev1.ContainerPort{{Name: "setup", ContainerPort: 80}}},
		{Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
			Ports: []corev1.ContainerPort{{Name: "proxy", ContainerPort: 8443}}},
	}
	for name, want := range map[string]int32{"proxy": 8443, "setup": 0, "other": 0} {
		if got, err := PodPort(pod, intstr.FromString(name)); got != want || (err == nil) != (want != 0) {
			t.Errorf("%s is port %d, %v; want %d", name, got, err, want)
		}
	}
}
