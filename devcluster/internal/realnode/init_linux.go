package realnode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/util/wait"
	remote "k8s.io/cri-client/pkg"
)

// runtimeTimeout is the maximum time for the start of containerd.
const runtimeTimeout = time.Minute

// Init is the first process of the node, in the namespaces that Run has created. It starts the node from the files in
// dir, and stops it when stdin is closed or a part of the node exits.
func Init(dir string) error {
	if os.Getpid() != 1 {
		return errors.New(InitCommand + " is an internal command of devcluster --kubelet")
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	n := node{children: collect()}
	if err := n.mount(dir); err != nil {
		return err
	}
	err := n.up(ctx)
	if ctx.Err() != nil {
		err = nil // stopped, possibly during the start
	}
	return errors.Join(err, n.down())
}

type node struct {
	plan     plan
	children *children
	cgroup   cgroups.Manager
}

// kernelParameters returns the kernel parameters that a kubelet sets when it starts (setupKernelTunables). They would
// affect the machine and remain set, so the node has files in their place.
func kernelParameters() []string {
	return []string{
		"vm/overcommit_memory", "vm/panic_on_oom",
		"kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
	}
}

// mount mounts a separate /var, /run, /proc and kernelParameters in the namespace, and reads the plan.
func (n *node) mount(dir string) error {
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
	}{
		// Mounts are not visible on the machine, but pods may share them (mountPropagation).
		{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE},
		{"", "/", "", syscall.MS_REC | syscall.MS_SHARED},
		{filepath.Join(dir, "var"), "/var", "", syscall.MS_BIND},
		{"tmpfs", "/run", "tmpfs", syscall.MS_NOSUID | syscall.MS_NODEV},
		{"proc", "/proc", "proc", syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC},
	} {
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	for i, name := range kernelParameters() {
		parameter, instead := filepath.Join("/proc/sys", name), fmt.Sprintf("%s-%d", sysctls, i)
		if err := copyFile(parameter, instead); err != nil {
			return err
		}
		if err := syscall.Mount(instead, parameter, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s: %w", parameter, err)
		}
	}
	text, err := os.ReadFile(planFile)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &n.plan)
}

// up starts the node, and returns when it must stop: with an error, unless the context is cancelled.
func (n *node) up(ctx context.Context) error {
	if err := n.makeCgroup(); err != nil {
		return err
	}
	for _, args := range []string{
		"link add " + n.plan.Bridge + " type bridge",
		"address add " + n.plan.Address + " dev " + n.plan.Bridge,
		"link set " + n.plan.Bridge + " up",
	} {
		if err := n.children.run("ip", strings.Fields(args)...); err != nil {
			return err
		}
	}
	containerdEnded, err := n.children.start("containerd", "--config", home+"/containerd.toml")
	if err != nil {
		return err
	}
	if err := waitRuntime(ctx, containerdEnded); err != nil {
		return err
	}
	images, err := filepath.Glob(imagesDir + "/*.tar")
	if err != nil {
		return err
	}
	for _, image := range images {
		if err := n.children.run("ctr", "--namespace", "k8s.io", "images", "import", "--snapshotter", "native",
			image); err != nil {
			return err
		}
	}
	kubeletEnded, err := n.children.start("/proc/self/exe", "kubelet",
		"--config="+home+"/kubelet.yaml", "--kubeconfig="+home+"/kubeconfig",
		"--hostname-override="+n.plan.Node, "--node-ip="+n.plan.NodeIP, "--node-labels="+Key+"=true")
	if err != nil {
		return err
	}
	select {
	case err := <-containerdEnded:
		return fmt.Errorf("containerd %w", err)
	case err := <-kubeletEnded:
		return fmt.Errorf("the kubelet %w", err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *node) makeCgroup() (err error) {
	n.cgroup, err = manager.New(&cgroups.Cgroup{Path: n.plan.Cgroup, Resources: &cgroups.Resources{}})
	if err != nil {
		return fmt.Errorf("cgroup %s: %w", n.plan.Cgroup, err)
	}
	const noProcess = -1
	if err := n.cgroup.Apply(noProcess); err != nil {
		return fmt.Errorf("create cgroup %s: %w", n.plan.Cgroup, err)
	}
	return nil
}

// waitRuntime waits until containerd serves the container runtime interface.
func waitRuntime(ctx context.Context, ended <-chan error) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, runtimeTimeout, true,
		func(ctx context.Context) (bool, error) {
			select {
			case err := <-ended:
				return false, fmt.Errorf("containerd %w", err)
			default:
			}
			if _, err := os.Stat(containerd); err != nil {
				return false, nil //nolint:nilerr // containerd does not listen yet
			}
			service, err := remote.NewRemoteRuntimeService(ctx, "unix://"+containerd, time.Second,
				noop.NewTracerProvider(),
				false)
			if err != nil {
				return false, nil //nolint:nilerr // containerd starts its services after it listens
			}
			return true, service.Close(ctx)
		})
	if err != nil {
		return fmt.Errorf("wait for containerd: %w", err)
	}
	return nil
}

// down stops all processes, which removes the network interfaces of pods, and removes the cgroup and the bridge.
func (n *node) down() error {
	if err := syscall.Kill(-1, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop the processes of the node: %w", err)
	}
	var errs []error
	if n.cgroup != nil {
		// A cgroup can be removed after its last process is reaped, which takes some time.
		err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, settle, true,
			func(context.Context) (bool, error) {
				return n.cgroup.Destroy() == nil, nil
			})
		if err != nil {
			errs = append(errs, fmt.Errorf("remove cgroup %s: %w", n.plan.Cgroup, err))
		}
	}
	if _, err := os.Stat("/sys/class/net/" + n.plan.Bridge); n.plan.Bridge != "" && err == nil {
		errs = append(errs, n.children.run("ip", "link", "delete", n.plan.Bridge))
	}
	return errors.Join(errs...)
}
