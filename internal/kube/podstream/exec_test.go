package podstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/exec"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// node imitates an API server with a kubelet. It allows gets only, and serves SPDY only.
type node struct {
	run func(ctx context.Context, args []string, stdout, stderr io.Writer) error // of a command
	log func(w http.ResponseWriter, request *http.Request)

	mu   sync.Mutex
	pods map[string]*corev1.Pod
	cut  bool // the next command has no result, because its connection is closed
}

func (n *node) change(name string, pod *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pods[name] = pod
}

func (n *node) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	switch path := request.URL.Path; {
	case strings.HasSuffix(path, "/exec") && request.Method == http.MethodPost:
		n.exec(w, request)
	case strings.HasSuffix(path, "/log"):
		n.log(w, request)
	default:
		kubetest.API{Answer: n.answer}.ServeHTTP(w, request)
	}
}

func (n *node) answer(verb, path string, request *http.Request) (int, any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if code, body, ok := kubetest.GetsOnly(verb, path, request); ok {
		return code, body
	}
	if pod := n.pods[path[strings.LastIndex(path, "/")+1:]]; pod != nil {
		return http.StatusOK, pod.DeepCopy()
	}
	if strings.HasSuffix(path, "/exec") {
		return kubetest.Failing(http.StatusBadRequest, metav1.StatusReasonBadRequest) // no WebSockets
	}
	return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound,
		Details: &metav1.StatusDetails{Kind: "pods", Name: "trainer-0"}}
}

// exec serves a command with the code of container runtimes.
func (n *node) exec(w http.ResponseWriter, request *http.Request) {
	query := request.URL.Query()
	protocols := []string{remotecommand.StreamProtocolV4Name}
	remotecommand.ServeExec(w, request, n, "trainer-0", "", query.Get("container"), query["command"],
		&remotecommand.Options{Stdout: true, Stderr: true}, time.Minute, time.Minute, protocols)
}

// ExecInContainer implements remotecommand.Executor.
func (n *node) ExecInContainer(
	ctx context.Context, _, _, _ string, args []string, _ io.Reader, stdout, stderr io.WriteCloser, _ bool,
	_ <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	err := n.run(ctx, args, stdout, stderr)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut {
		panic(http.ErrAbortHandler)
	}
	return err
}

func exits(code int) error {
	return exec.CodeExitError{Err: fmt.Errorf("exit status %d", code), Code: code}
}

// trainer is a pod with a container that runs.
func trainer() *corev1.Pod {
	pod := kubetest.RunningPod("trainer-0")
	pod.UID = "u"
	pod.Spec.Containers = []corev1.Container{{Name: "kubetorch"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "kubetorch",
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	return pod
}

// serve returns a client of an API server with the pod trainer-0.
func serve(t *testing.T, n *node) *kube.Cluster {
	t.Helper()
	n.pods = map[string]*corev1.Pod{"trainer-0": trainer()}
	server := httptest.NewServer(n)
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	return kube.NewCluster(t.Context(), config.Config{Host: server.URL, Token: "x",
		Env: config.Env{Getenv: func(string) string { return "" }}}).WithClock(&kubetest.Clock{})
}

// runIn runs a command in trainer-0.
func runIn(ctx context.Context, c *kube.Cluster, args ...string) (code int, lines []string, err error) {
	code, err = Run(ctx, c, Command{Pod: trainer(), Container: "kubetorch", Args: args, Mask: unmasked},
		func(line string) { lines = append(lines, line) })
	return code, lines, err
}

func TestRunPassesOnTheOutputAndTheExitCode(t *testing.T) {
	t.Parallel()
	c := serve(t, &node{run: func(_ context.Context, args []string, stdout, stderr io.Writer) error {
		fmt.Fprintf(stdout, "%q\nout", args)
		if args[0] == "fail" {
			fmt.Fprint(stderr, "warning\n")
			return exits(3)
		}
		return nil
	}})
	code, lines, err := runIn(t.Context(), c, "echo", "a b", "$HOME")
	if want := []string{`["echo" "a b" "$HOME"]`, "out"}; err != nil || code != 0 || !slices.Equal(lines, want) {
		t.Errorf("got %d, %q, %v", code, lines, err)
	}
	code, lines, err = runIn(t.Context(), c, "fail")
	slices.Sort(lines)
	if want := []string{`["fail"]`, "out", "warning"}; err != nil || code != 3 || !slices.Equal(lines, want) {
		t.Errorf("got %d, %q, %v", code, lines, err)
	}
}

func TestRunReportsACommandThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	c := serve(t, &node{run: func(context.Context, []string, io.Writer, io.Writer) error {
		return errors.New(`failed to exec in container: OCI runtime exec failed: exec: "x": not found: unknown`)
	}})
	_, _, err := runIn(t.Context(), c, "x")
	failed, ok := errors.AsType[*StartError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if _, cause := failed.Explain(); cause.Summary != `Message of the container runtime: exec: "x": not found.` {
		t.Errorf("got %s", cause.Summary)
	}
}

func TestRunReportsALostConnection(t *testing.T) {
	t.Parallel()
	n := &node{cut: true, run: func(_ context.Context, _ []string, stdout, _ io.Writer) error {
		_, err := io.WriteString(stdout, "started\n")
		return err
	}}
	code, _, err := runIn(t.Context(), serve(t, n), "save")
	if err == nil {
		t.Errorf("exit code %d, although the command has not ended", code)
	}
}

func TestRunNamesTheMissingPermission(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
		return http.StatusForbidden, metav1.Status{Reason: metav1.StatusReasonForbidden,
			Message: `User "eve" cannot create resource "pods/exec"`}
	}})
	t.Cleanup(server.Close)
	c := kube.NewCluster(t.Context(), config.Config{Host: server.URL, Token: "x"}).WithClock(&kubetest.Clock{})
	_, _, err := runIn(t.Context(), c, "x")
	if kube.ClassOf(err) != kube.Denied || !strings.Contains(err.Error(), "pods/exec") {
		t.Errorf("%v is of class %v", err, kube.ClassOf(err))
	}
}

func TestRunFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	settings := config.Config{Host: kubetest.Redirecting(t), Token: "x"}
	c := kube.NewCluster(t.Context(), settings).WithClock(&kubetest.Clock{})
	_, _, err := runIn(t.Context(), c, "x")
	if kube.ClassOf(err) != kube.Unreachable || !strings.Contains(err.Error(), "redirect (307") {
		t.Errorf("%v is of class %v", err, kube.ClassOf(err))
	}
}

func TestRunEndsAtOnceWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	n := &node{run: func(_ context.Context, _ []string, stdout, _ io.Writer) error {
		fmt.Fprintln(stdout, "started")
		<-release
		return nil
	}}
	c := serve(t, n)
	_, err := Run(ctx, c, Command{Pod: trainer(), Container: "kubetorch", Args: []string{"x"}, Mask: unmasked},
		func(string) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestRunReportsThatTheContainerEnded(t *testing.T) {
	t.Parallel()
	terminated := func(reason string, code int32) *corev1.Pod {
		pod := trainer()
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: reason, ExitCode: code}}
		return pod
	}
	restarted := trainer()
	restarted.Status.ContainerStatuses[0].RestartCount = 1
	replaced := trainer()
	replaced.UID = "other"
	terminating, now := trainer(), metav1.Now()
	terminating.DeletionTimestamp = &now
	evicted := trainer()
	evicted.Status.Phase, evicted.Status.Reason = corev1.PodFailed, "Evicted"
	for name, test := range map[string]struct {
		after *corev1.Pod
		code  int // of the command; 0: it never ends
		want  string
	}{
		"a deleted pod without a node":    {nil, 0, "the pod was deleted"},
		"a deleted pod":                   {nil, 137, "the pod was deleted"},
		"a kubelet that reports it late":  {terminating, 137, "the pod was deleted"},
		"a pod replaced by one of a name": {replaced, 137, "the pod was deleted"},
		"a container out of memory": {terminated(ready.OOMKilled, 137), 137,
			"exceeded its memory limit (OOMKilled)"},
		"a container that failed": {terminated("Error", 2), 143, "container kubetorch ended with exit code 2"},
		"a restarted container":   {restarted, 137, "container kubetorch was restarted"},
		"an evicted pod":          {evicted, 137, "the pod failed (Evicted)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			t.Cleanup(func() { close(release) })
			n := &node{}
			n.run = func(context.Context, []string, io.Writer, io.Writer) error {
				n.change("trainer-0", test.after)
				if test.code == 0 {
					<-release
				}
				return exits(test.code)
			}
			code, _, err := runIn(t.Context(), serve(t, n), "x")
			ended, ok := errors.AsType[*EndedError](err)
			if !ok || !strings.Contains(ended.Reason, test.want) {
				t.Errorf("got %d, %v, want %q", code, err, test.want)
			}
		})
	}
}

func TestAKilledCommandInALivingContainerHasItsExitCode(t *testing.T) {
	t.Parallel()
	c := serve(t, &node{run: func(context.Context, []string, io.Writer, io.Writer) error { return exits(137) }})
	if code, _, err := runIn(t.Context(), c, "x"); err != nil || code != 137 {
		t.Errorf("got %d, %v", code, err)
	}
}

func TestACommandThatFailsInATerminatingPodHasItsExitCode(t *testing.T) {
	t.Parallel()
	terminating, now := trainer(), metav1.Now()
	terminating.DeletionTimestamp = &now
	n := &node{}
	n.run = func(context.Context, []string, io.Writer, io.Writer) error {
		n.change("trainer-0", terminating)
		return exits(3)
	}
	if code, _, err := runIn(t.Context(), serve(t, n), "x"); err != nil || code != 3 {
		t.Errorf("got %d, %v", code, err)
	}
}

// A deleted pod may show the exit code of its command until a controller removes its finalizer. The code is not a
// result of the command, not even 0: it may be that of a handler of SIGTERM.
func TestAContainerThatEndsInADeletedPodHasNoExitCode(t *testing.T) {
	t.Parallel()
	ended := func(code int32, deleted bool) *corev1.Pod {
		pod := trainer()
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: "Error", ExitCode: code}}
		if deleted {
			now := metav1.Now()
			pod.DeletionTimestamp = &now
		}
		return pod
	}
	for name, test := range map[string]struct {
		after *corev1.Pod
		want  string // of the error
	}{
		"a command that failed":         {ended(2, false), ""},
		"a command that succeeded":      {ended(0, false), ""},
		"a command that was terminated": {ended(2, true), "the pod was deleted"},
		"a command that ended itself":   {ended(0, true), "the pod was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &node{}
			c := serve(t, n)
			n.change("trainer-0", test.after)
			end, err := AwaitExit(t.Context(), c, trainer(), "kubetorch")
			if test.want == "" {
				if err != nil || end.ExitCode != test.after.Status.ContainerStatuses[0].State.Terminated.ExitCode {
					t.Errorf("got %+v, %v", end, err)
				}
				return
			}
			if died, ok := errors.AsType[*EndedError](err); !ok || died.Reason != test.want {
				t.Errorf("got %+v, %v", end, err)
			}
		})
	}
}
