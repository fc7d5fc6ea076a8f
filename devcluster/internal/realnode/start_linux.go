package realnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// InitCommand is the subcommand of this binary that calls Init.
const InitCommand = "node-init"

// namespaces are the separate namespaces of a node.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID

// logTail is the number of bytes of the log in an error. The log may be removed with the cluster's directory.
const logTail = 4 << 10

// Check returns an error if this machine does not meet the requirements of a real node.
func Check() error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("--kubelet requires amd64, but this machine is %s", runtime.GOARCH)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("--kubelet requires root to run containers, but this is user %d: run it with sudo",
			os.Geteuid())
	}
	var missing []string
	for _, command := range []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc", "ip"} {
		if _, err := exec.LookPath(command); err != nil {
			missing = append(missing, command)
		}
	}
	if _, err := cniPlugins(); err != nil {
		missing = append(missing, err.Error())
	}
	if len(missing) > 0 {
		return fmt.Errorf("--kubelet requires %s, which were not found: on Debian, run apt-get install %s",
			strings.Join(missing, ", "), Packages)
	}
	try := exec.Command("ip", "-V")
	try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	if err := try.Run(); err != nil {
		return fmt.Errorf("--kubelet requires new mount and PID namespaces, which this machine does not allow (%w): "+
			"in a container, make the container privileged", err)
	}
	return nil
}

// cniPlugins returns the directory of the CNI plugins: the one of Debian, or the one of upstream releases.
func cniPlugins() (string, error) {
	for _, dir := range []string{"/usr/lib/cni", "/opt/cni/bin"} {
		complete := true
		for _, plugin := range []string{"bridge", "host-local", "loopback"} {
			if _, err := os.Stat(filepath.Join(dir, plugin)); err != nil {
				complete = false
			}
		}
		if complete {
			return dir, nil
		}
	}
	return "", errors.New("the CNI plugins bridge, host-local and loopback")
}

// FreeNetwork returns a network that this machine does not use, and that is none of those that are about to be used.
func FreeNetwork(taken []netip.Prefix) (netip.Prefix, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Prefix{}, err
	}
	taken = slices.Clone(taken)
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			taken = append(taken, prefix)
		}
	}
	return PickNetwork(taken)
}

// Run starts the node and runs it until the context is cancelled. Then it removes everything that belongs to the node.
// If the node exits early, the error contains the end of the log.
func Run(ctx context.Context, config Config) error {
	plugins, err := cniPlugins()
	if err != nil {
		return err
	}
	if err := config.writeFiles(plugins); err != nil {
		return err
	}
	log, err := os.OpenFile(config.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// Init stops the node when its stdin is closed, which happens whenever this process exits.
	tether, hold, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = hold.Close() }()
	init := exec.CommandContext(context.WithoutCancel(ctx), self, InitCommand, config.Dir)
	init.Stdin, init.Stdout, init.Stderr = tether, log, log
	// In a separate session, it does not receive signals of the terminal.
	init.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: namespaces}
	err = init.Start()
	_ = tether.Close()
	if err != nil {
		return fmt.Errorf("start the node in new namespaces: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- init.Wait() }()
	select {
	case err := <-ended:
		return fmt.Errorf("%w; the end of its log %s:\n%s",
			errors.Join(errors.New("containerd or the kubelet failed"), err), config.LogFile, tail(config.LogFile))
	case <-ctx.Done():
		_ = hold.Close()
		return <-ended
	}
}

// tail returns the end of a file, starting at the beginning of a line.
func tail(file string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	if len(content) > logTail {
		content = content[len(content)-logTail:]
		_, rest, _ := strings.Cut(string(content), "\n")
		return rest
	}
	return string(content)
}

// settle is the maximum time for killed processes to exit.
const settle = 20 * time.Second
