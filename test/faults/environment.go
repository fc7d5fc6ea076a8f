package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// environment is a namespace behind a proxy and a working directory, in which a worker runs its cycles.
type environment struct {
	cluster   *cluster
	namespace string
	workDir   workDir
	proxy     *proxy.Proxy
	// restart restarts the cluster. It is nil if other environments use the same cluster.
	restart func() error
}

// newEnvironment creates a namespace and starts a proxy for it.
func newEnvironment(ctx context.Context, c *cluster, name string, base workDir, http2 bool) (*environment, error) {
	e := &environment{cluster: c, namespace: name, workDir: base}
	e.workDir.dir = filepath.Join(base.dir, name)
	if err := os.MkdirAll(e.workDir.dir, 0o700); err != nil {
		return nil, err
	}
	if err := c.makeNamespace(ctx, name); err != nil {
		return nil, err
	}
	var err error
	if e.proxy, err = c.startProxy(name, http2); err != nil {
		return nil, err
	}
	text, err := e.proxy.Kubeconfig()
	if err != nil {
		return nil, err
	}
	return e, errors.Join(os.WriteFile(e.kubeconfig(), text, 0o600),
		os.WriteFile(e.workDir.state(), []byte(emptyState), 0o600))
}

func (e *environment) kubeconfig() string { return filepath.Join(e.workDir.dir, "kubeconfig") }

// close deletes the namespace and the working directory. Afterwards, the garbage collector may still be deleting
// objects.
func (e *environment) close(ctx context.Context) error {
	return errors.Join(e.proxy.Close(), e.cluster.deleteNamespace(ctx, e.namespace), os.RemoveAll(e.workDir.dir))
}
