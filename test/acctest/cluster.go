// Package acctest contains what the acceptance tests in its subdirectories share:
// dev clusters, Terraform with the provider, configurations, and checks of plans,
// output and objects.
package acctest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Cluster is a dev cluster, or the cluster of KT_ACC_KUBECONFIG. Each test uses
// separate namespaces.
type Cluster struct {
	start      func() (*running, error)
	enabled    string // environment variable without which tests are skipped
	once       sync.Once
	running    *running
	err        error
	namespaces atomic.Int64
}

// running is a started cluster.
type running struct {
	kubeconfig string // path of a cluster-admin kubeconfig
	cache      string // directory for what kubectl caches, or "" for its default
	stop       func() error
}

// Root returns the root of the repository, from the working directory of a test.
func Root() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".goreleaser.yml")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return "."
}

// Testdata returns the path of a file in testdata.
func Testdata(name string) string {
	return filepath.Join(Root(), "test", "acctest", "testdata", name)
}

// StartCluster starts the dev cluster with these arguments, and returns when
// workloads can run. The binary is KT_DEVCLUSTER, or bin/devcluster.
func StartCluster(args ...string) (*Cluster, error) {
	c := newCluster("", func() (*running, error) { return startDevCluster(args...) })
	return c, c.Start()
}

// Environment variables with the paths of kubeconfigs.
const (
	// KubeconfigVariable names a cluster of the developer, instead of a dev cluster.
	KubeconfigVariable = "KT_ACC_KUBECONFIG"
	// SharedVariable and SharedWithCRDsVariable name dev clusters that several test
	// binaries share. The command test/acctest/clusters sets them.
	SharedVariable         = "KT_ACC_SHARED"
	SharedWithCRDsVariable = "KT_ACC_SHARED_WITH_CRDS"
)

// SharedCluster returns a cluster for all tests of a package, which starts when a
// test first uses it. It is the cluster of KubeconfigVariable or SharedVariable if
// they are set, and otherwise a dev cluster with enough GPUs for tests that run in
// parallel. Without TF_ACC, the tests that use it are skipped.
func SharedCluster() *Cluster {
	return newCluster("TF_ACC", func() (*running, error) {
		if c := startedBefore(KubeconfigVariable); c != nil {
			return c, nil
		}
		if c := startedBefore(SharedVariable); c != nil {
			return c, nil
		}
		return startDevCluster(manyNodes()...)
	})
}

// startedBefore returns the cluster of an environment variable, or nil.
func startedBefore(variable string) *running {
	kubeconfig := os.Getenv(variable)
	if kubeconfig == "" {
		return nil
	}
	c := &running{kubeconfig: kubeconfig, stop: func() error { return nil }}
	if variable != KubeconfigVariable {
		c.cache = kubectlCache(kubeconfig)
	}
	return c
}

// OwnCluster starts a dev cluster with one node for a single test that changes
// what all tests of a cluster share. It stops when the test ends.
func OwnCluster(t *testing.T, args ...string) *Cluster {
	t.Helper()
	c := newCluster("TF_ACC", func() (*running, error) {
		return startDevCluster(append([]string{"--node", "name=cpu-0"}, args...)...)
	})
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c.Started(t)
}

// RunTests runs the tests of a package, stops the clusters that they have
// started, and returns the exit code for TestMain.
func RunTests(m *testing.M, clusters ...*Cluster) int {
	code := m.Run()
	for _, c := range clusters {
		if err := c.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "cannot stop a dev cluster:", err)
			code = 1
		}
	}
	return code
}

func newCluster(enabled string, start func() (*running, error)) *Cluster {
	return &Cluster{start: start, enabled: enabled}
}

// programPath returns the path in an environment variable, or the program of bin/.
func programPath(variable, name string) string {
	if path := os.Getenv(variable); path != "" {
		return path
	}
	return filepath.Join(Root(), "bin", name)
}

// kubectl returns the path of kubectl: KT_KUBECTL, or bin/kubectl.
func kubectl() string { return programPath("KT_KUBECTL", "kubectl") }

func startDevCluster(args ...string) (*running, error) {
	kubeconfig, stop, err := startUntilReady(programPath("KT_DEVCLUSTER", "devcluster"), args...)
	return &running{kubeconfig, kubectlCache(kubeconfig), stop}, err
}

// kubectlCache is removed with the directory of a dev cluster.
func kubectlCache(kubeconfig string) string {
	return filepath.Join(filepath.Dir(kubeconfig), "kubectl-cache")
}

// Start starts the cluster, or waits until another test has started it.
func (c *Cluster) Start() error {
	c.once.Do(func() { c.running, c.err = c.start() })
	return c.err
}

// Started returns the cluster when it has started. Tests call it only if they
// use nothing else of the cluster that has a *testing.T.
func (c *Cluster) Started(t *testing.T) *Cluster {
	t.Helper()
	if c.enabled != "" && os.Getenv(c.enabled) == "" {
		t.Skip(c.enabled + " is not set")
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// Kubeconfig returns the path of a cluster-admin kubeconfig. It panics if the
// cluster cannot start.
func (c *Cluster) Kubeconfig() string {
	if err := c.Start(); err != nil {
		panic(err)
	}
	return c.running.kubeconfig
}

// startUntilReady starts a program, waits until it prints a line that begins with
// READY, and returns the rest of that line. Stop stops the program and waits until
// it has ended.
func startUntilReady(binary string, args ...string) (ready string, stop func() error, err error) {
	command := exec.Command(binary, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := startChild(command); err != nil {
		return "", nil, fmt.Errorf("%w; build it with: make bin/%s", err, filepath.Base(binary))
	}
	stop = func() error {
		if err := command.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		return command.Wait()
	}
	scanner := bufio.NewScanner(stdout)
	for scanner.Scan() {
		if ready, ok := strings.CutPrefix(scanner.Text(), "READY"); ok {
			go func() { _, _ = io.Copy(io.Discard, stdout) }()
			return strings.TrimSpace(ready), stop, nil
		}
	}
	_ = command.Wait()
	return "", nil, fmt.Errorf("%s ended before it was ready:\n%s", filepath.Base(binary), stderr.String())
}

// NodesVariable is how many nodes of each kind a dev cluster has that tests share. A
// DaemonSet has a pod on each of them, so that few save most of the work of a bench.
const NodesVariable = "KT_ACC_NODES"

// manyNodes are arguments for a dev cluster whose GPUs suffice for many tests that
// run in parallel.
func manyNodes() []string {
	nodes, err := strconv.Atoi(os.Getenv(NodesVariable))
	if err != nil {
		nodes = 12
	}
	var args []string
	for i := range nodes {
		args = append(args,
			"--node", fmt.Sprintf("name=h100-%d,gpus=8,product=NVIDIA-H100-80GB-HBM3", i),
			"--node", fmt.Sprintf("name=l4-%d,gpus=4,product=NVIDIA-L4", i),
			"--node", fmt.Sprintf("name=cpu-%d", i))
	}
	return args
}

// Stop stops the dev cluster, if it was started, and waits until it has ended.
func (c *Cluster) Stop() error {
	if c.running != nil && c.err == nil {
		return c.running.stop()
	}
	return nil
}

// Kubectl runs kubectl as cluster admin and returns what it prints.
func (c *Cluster) Kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.TryKubectl(t, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// TryKubectl is Kubectl for commands that may fail.
func (c *Cluster) TryKubectl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c.Started(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, kubectl(), append([]string{"--kubeconfig", c.Kubeconfig()}, args...)...)
	if c.running.cache != "" {
		command.Env = append(os.Environ(), "KUBECACHEDIR="+c.running.cache)
	}
	out, err := command.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// KubectlDir returns a directory with a kubectl for programs that run it, as
// cluster admin and by default in a namespace.
func (c *Cluster) KubectlDir(t *testing.T, namespace string) string {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' --kubeconfig '%s' -n '%s' \"$@\"\n", kubectl(), c.Kubeconfig(),
		namespace)
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Apply applies YAML as cluster admin, with further arguments of kubectl apply.
func (c *Cluster) Apply(t *testing.T, yaml string, args ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Kubectl(t, append([]string{"apply", "-f", file}, args...)...)
}

// WaitForOutput repeats a kubectl command, which may fail, until its output
// contains the text, or until it succeeds without it. The API server applies
// policies and quotas with a delay, because it watches them.
func (c *Cluster) WaitForOutput(t *testing.T, text string, want bool, args ...string) {
	t.Helper()
	WaitUntil(t, fmt.Sprintf("the output of kubectl %v to contain %q: %t", args, text, want), func() bool {
		out, err := c.TryKubectl(t, args...)
		return strings.Contains(out, text) == want && (want || err == nil)
	})
}

// WaitUntil waits until the condition is true, and fails the test after two
// minutes, which suffice on an overloaded machine.
func WaitUntil(t *testing.T, description string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !condition(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out while waiting for %s", description)
		}
	}
}
