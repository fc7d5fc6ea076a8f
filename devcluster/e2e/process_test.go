// Package e2e tests the built dev cluster.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// patience limits all waits. It is far above the usual duration, for overloaded machines.
const patience = 3 * time.Minute

// process is a dev cluster in a separate process.
type process struct {
	command *exec.Cmd
	lines   chan string // lines of stdout; closed at the end
	stderr  bytes.Buffer
	// kubeconfig is the path in the READY line.
	kubeconfig string
}

// binary returns the path of the dev cluster that `make devcluster` builds.
func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("KT_DEVCLUSTER")
	if path == "" {
		path = filepath.Join("..", "..", "bin", "devcluster")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; build it with `make devcluster`, or set KT_DEVCLUSTER", err)
	}
	return path
}

// launch starts the dev cluster and ensures that it does not outlive the test.
func launch(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{command: exec.Command(binary(t), args...), lines: make(chan string, 16)}
	// The kubeconfig of the user must not have an effect.
	p.command.Env = append(append(os.Environ(), "KUBECONFIG="+filepath.Join(t.TempDir(), "nowhere")), env...)
	p.command.Stderr = &p.stderr
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() { _ = p.command.Process.Kill() })
	return p
}

// ready waits for the READY line and returns its kubeconfig.
func (p *process) ready(t *testing.T) string {
	t.Helper()
	select {
	case line, open := <-p.lines:
		kubeconfig, found := strings.CutPrefix(line, "READY ")
		if !open || !found {
			t.Fatalf("stdout starts with %q (open: %t); stderr: %s", line, open, p.end())
		}
		p.kubeconfig = kubeconfig
		return kubeconfig
	case <-time.After(patience):
		t.Fatal("the cluster did not become ready")
	}
	return ""
}

// stop sends a signal and checks that the process exits successfully without further output.
func (p *process) stop(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := p.command.Process.Signal(signal); err != nil {
		t.Error(err)
	}
	for line := range p.lines {
		t.Errorf("more on stdout: %q", line)
	}
	err := p.command.Wait()
	if printed := withoutEtcdClient(p.stderr.String()); err != nil || printed != "" {
		t.Errorf("after %s: %v, stderr: %s", signal, err, printed)
	}
}

// withoutEtcdClient removes the log of the etcd client in the API server, which warns of each request that the stop
// cancels. Its logger is created before main (k8s.io/apiserver/pkg/storage/storagebackend/factory/etcd3.go), so it
// cannot be redirected.
func withoutEtcdClient(stderr string) string {
	lines := strings.SplitAfter(stderr, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return strings.Contains(line, `"logger":"etcd-client"`)
	}), "")
}

// end kills the process and returns its stderr.
func (p *process) end() string {
	_ = p.command.Process.Kill()
	for range p.lines {
	}
	_ = p.command.Wait()
	return p.stderr.String()
}

func connect(t *testing.T, kubeconfig string) (*rest.Config, kubernetes.Interface) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return config, client
}

// eventually waits until a condition of the cluster holds. The function also returns a description of the last state.
func eventually(t *testing.T, what string, look func(context.Context) (saw string, ok bool)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		saw, ok := look(ctx)
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("timed out waiting for %s; last state: %s", what, saw)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func TestClusterCleansUpItsTemporaryDirectory(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	p := launch(t, []string{"TMPDIR=" + temp})
	kubeconfig := p.ready(t)
	if !strings.HasPrefix(kubeconfig, temp) {
		t.Errorf("kubeconfig %s is not under %s", kubeconfig, temp)
	}
	p.stop(t, syscall.SIGINT)
	wantEntries(t, temp)
}

func TestClusterStopsWhileClientsHoldConnections(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	p := launch(t, []string{"TMPDIR=" + temp})
	config, client := connect(t, p.ready(t))
	for range 3 { // as many as the clients of a run
		watched, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(watched.Stop)
	}
	// A client that does not speak HTTP/2 and ends its request never.
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(config.Host, "https://"), tlsConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Type: "+
		"application/json\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	p.stop(t, syscall.SIGTERM)
	wantEntries(t, temp)
}

func TestClusterCanBeStoppedDuringItsStart(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	p := launch(t, []string{"TMPDIR=" + temp})
	eventually(t, "the start to begin", func(context.Context) (string, bool) {
		logs, err := filepath.Glob(filepath.Join(temp, "*", "devcluster.log"))
		return "no log yet", err == nil && len(logs) == 1
	})
	p.stop(t, syscall.SIGTERM)
	wantEntries(t, temp)
}

func TestClusterReportsWhyItCannotStart(t *testing.T) {
	t.Parallel()
	noContainers := "apt-get install containerd"
	if os.Geteuid() != 0 {
		noContainers = "--kubelet requires root"
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"wrong node":    {[]string{"--node", "name=a,gpus=many"}, `"many" is not an integer number`},
		"no such CRD":   {[]string{"--crds", filepath.Join(t.TempDir(), "nowhere")}, "no such file or directory"},
		"no containers": {[]string{"--kubelet"}, noContainers},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			p := launch(t, []string{"TMPDIR=" + temp, "PATH=" + temp}, c.args...)
			for line := range p.lines {
				t.Errorf("stdout: %q", line)
			}
			if err := p.command.Wait(); err == nil || !strings.Contains(p.stderr.String(), c.want) {
				t.Errorf("%v, stderr: %s; want %q in it", err, p.stderr.String(), c.want)
			}
			wantEntries(t, temp)
		})
	}
}

// wantEntries checks the content of a directory.
func wantEntries(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s contains %q; want %q", dir, got, want)
	}
}
