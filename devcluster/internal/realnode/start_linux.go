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
	"strings"
	"syscall"
	"time"
)

// InitCommand is the subcommand of this binary that calls Init.
const InitCommand = "node-init"

// namespaces are those that a node has of its own.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID

// logTail is how much of the log an error shows, in bytes: the log may go with the cluster's folder.
const logTail = 4 << 10

// Check says what this machine lacks for a real node, nil for nothing.
func Check() error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("--kubelet is made for amd64, and this is %s", runtime.GOARCH)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("--kubelet needs root, since it runs containers; this is user %d. Run it with sudo", os.Geteuid())
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
		return fmt.Errorf("--kubelet needs %s, not found here. Debian has them: apt-get install %s", strings.Join(missing, ", "), Packages)
	}
	try := exec.Command("ip", "-V")
	try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	if err := try.Run(); err != nil {
		return fmt.Errorf("--kubelet needs a mount and a PID namespace of its own, which this machine refuses (%w). In a container, make that a privileged one", err)
	}
	return nil
}

// cniPlugins is the folder with the CNI plugins: Debian's, or where their own releases are installed.
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

// FreeNetwork picks a network that this machine does not use.
func FreeNetwork() (netip.Prefix, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Prefix{}, err
	}
	var taken []netip.Prefix
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			taken = append(taken, prefix)
		}
	}
	return PickNetwork(taken)
}

// Run starts the node and keeps it up until the context ends; then everything of it is gone. An early end is an
// error with the end of the log.
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
	// Init stops the node when its stdin ends, which it does with this process, however that ends.
	tether, hold, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = hold.Close() }()
	init := exec.CommandContext(context.WithoutCancel(ctx), self, InitCommand, config.Dir)
	init.Stdin, init.Stdout, init.Stderr = tether, log, log
	// In a session of its own, it is not told to stop by the terminal.
	init.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: namespaces}
	err = init.Start()
	_ = tether.Close()
	if err != nil {
		return fmt.Errorf("start the node in namespaces of its own: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- init.Wait() }()
	select {
	case err := <-ended:
		return fmt.Errorf("%w; its log %s ends:\n%s", errors.Join(errors.New("containerd or the kubelet failed"), err), config.LogFile, tail(config.LogFile))
	case <-ctx.Done():
		_ = hold.Close()
		return <-ended
	}
}

// tail is the end of a file, from the begin of a line on.
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

// settle is how long what was killed may take to be gone.
const settle = 5 * time.Second
