// Package acctest runs the provider against a real control plane: the dev
// cluster, or any cluster that KT_ACC_KUBECONFIG names.
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
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Cluster is a running cluster that tests share. Each test has a namespace of
// its own in it.
type Cluster struct {
	// Kubeconfig is the path of a kubeconfig with all rights.
	Kubeconfig string
	binary     string
	stop       func() error
	namespaces atomic.Int64
}

// Root is the root of the repository, seen from a test's working directory.
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

// StartCluster starts the dev cluster with arguments of its command line, and
// returns when a workload can run. The binary is KT_DEVCLUSTER, else
// bin/devcluster. With KT_ACC_KUBECONFIG set, that cluster is used instead,
// unless arguments ask for a particular one.
func StartCluster(args ...string) (*Cluster, error) {
	binary := os.Getenv("KT_DEVCLUSTER")
	if binary == "" {
		binary = filepath.Join(Root(), "bin", "devcluster")
	}
	if kubeconfig := os.Getenv("KT_ACC_KUBECONFIG"); kubeconfig != "" && len(args) == 0 {
		return &Cluster{Kubeconfig: kubeconfig, binary: binary, stop: func() error { return nil }}, nil
	}
	if len(args) == 0 {
		args = roomForAll()
	}
	kubeconfig, stop, err := startUntilReady(binary, args...)
	if err != nil {
		return nil, err
	}
	return &Cluster{Kubeconfig: kubeconfig, binary: binary, stop: stop}, nil
}

// startUntilReady starts a program and waits for the line on its stdout that
// begins with READY, of which it returns the rest. Stop tells it to stop and
// waits for its end.
func startUntilReady(binary string, args ...string) (ready string, stop func() error, err error) {
	command := exec.Command(binary, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := startTethered(command); err != nil {
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

// roomForAll has enough GPUs that tests which run side by side don't wait for
// each other's.
func roomForAll() []string {
	var args []string
	for i := range 12 {
		args = append(args,
			"--node", fmt.Sprintf("name=h100-%d,gpus=8,product=NVIDIA-H100-80GB-HBM3", i),
			"--node", fmt.Sprintf("name=l4-%d,gpus=4,product=NVIDIA-L4", i),
			"--node", fmt.Sprintf("name=cpu-%d", i))
	}
	return args
}

// Stop stops the dev cluster and waits until it is gone.
func (c *Cluster) Stop() error { return c.stop() }

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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, c.binary, append([]string{"kubectl", "--kubeconfig", c.Kubeconfig}, args...)...)
	out, err := command.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// KubectlDir is a folder with a kubectl for programs that run one: it is
// cluster admin, and of a namespace unless told another.
func (c *Cluster) KubectlDir(t *testing.T, namespace string) string {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' kubectl --kubeconfig '%s' -n '%s' \"$@\"\n", c.binary, c.Kubeconfig, namespace)
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

// Namespace makes a namespace with Kubetorch's service account, which goes
// with the test.
func (c *Cluster) Namespace(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("acc-%d-%d", os.Getpid(), c.namespaces.Add(1))
	c.Kubectl(t, "create", "namespace", name)
	t.Cleanup(func() { c.Kubectl(t, "delete", "namespace", name, "--wait=false") })
	c.Kubectl(t, "create", "serviceaccount", "kubetorch-service-account", "-n", name)
	return name
}

// WaitUntil returns once the condition holds, which what names, and fails the
// test if it does not within two minutes: long enough for a busy machine.
func WaitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !condition(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never saw %s", what)
		}
	}
}
