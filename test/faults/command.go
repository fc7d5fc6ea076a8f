package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// workDir is the working directory of one configuration.
type workDir struct {
	dir, cli, settings string
}

func (w workDir) state() string { return filepath.Join(w.dir, "terraform.tfstate") }

// run is a completed command of the CLI.
type run struct {
	args      string
	code      int // -1 after a signal
	output    string
	messages  messages // in the output
	took      time.Duration
	hung      bool     // the hard limit was exceeded
	remaining []string // processes that outlived the command
}

// running is a running command.
type running struct {
	command *exec.Cmd
	state   string // path of the state file
}

// signal sends the signal of a fault.
func (r *running) signal(kind proxy.Kind) {
	pid := r.command.Process.Pid
	switch kind {
	case proxy.KillCLI:
		killBetweenWrites(pid, r.state)
	case proxy.InterruptCLI:
		_ = syscall.Kill(-pid, syscall.SIGINT)
	case proxy.TerminateCLI:
		_ = syscall.Kill(-pid, syscall.SIGTERM)
	case proxy.KillProvider:
		for _, child := range group(pid) {
			if child != pid {
				_ = syscall.Kill(child, syscall.SIGKILL)
			}
		}
	default:
	}
}

// emptyState is a state without resources, as a destroy leaves it.
const emptyState = `{"version": 4, "terraform_version": "1.9.0", "serial": 0, "outputs": {}, "resources": [],
	"lineage": "5f0a6f5e-0000-0000-0000-000000000000"}`

// killBetweenWrites sends SIGKILL to the CLI, but not while it writes its state. The CLI truncates the file and writes
// it in place (statemgr.Filesystem in OpenTofu 1.12 and Terraform), so a kill in between loses the complete state,
// regardless of the provider. The file is valid before the first write, because it begins as emptyState.
func killBetweenWrites(pid int, state string) {
	const pause, timeout = 3 * time.Millisecond, 10 * time.Second
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); {
		_ = syscall.Kill(pid, syscall.SIGSTOP) // it may already have exited
		awaitStop(pid, deadline)
		if data, err := os.ReadFile(state); err != nil || json.Valid(data) {
			break
		}
		_ = syscall.Kill(pid, syscall.SIGCONT)
		time.Sleep(pause)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// awaitStop waits for a signalled process to stop or exit.
func awaitStop(pid int, deadline time.Time) {
	for time.Now().Before(deadline) {
		fields := processStat(fmt.Sprintf("/proc/%d/stat", pid))
		if len(fields) == 0 || !strings.Contains("RSD", fields[0]) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// execute runs a command with -json until it exits, or until the hard limit. prepare is called with the started
// command, which it can signal.
func (w workDir) execute(
	ctx context.Context, limit time.Duration, prepare func(*running), args ...string,
) (run, error) {
	flags := []string{args[0], "-json", "-no-color"}
	if args[0] != "show" {
		flags = append(flags, "-input=false")
	}
	command := exec.Command(w.cli, append(flags, args[1:]...)...)
	command.Dir = w.dir
	tmp := filepath.Join(w.dir, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return run{}, err
	}
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "TMPDIR=" + tmp, "TF_CLI_CONFIG_FILE=" + w.settings,
		"TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
	}
	for _, name := range []string{"KT_CI_RUN", "TF_LOG"} {
		if value := os.Getenv(name); value != "" {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Use a file, because a provider that outlives the command would keep its end of a pipe open.
	output, err := os.Create(filepath.Join(w.dir, "output"))
	if err != nil {
		return run{}, err
	}
	defer output.Close()
	command.Stdout, command.Stderr = output, output
	start := time.Now()
	r := &running{command: command, state: w.state()}
	if err := command.Start(); err != nil {
		return run{}, err
	}
	if prepare != nil {
		prepare(r)
	}
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	out := run{args: strings.Join(args, " ")}
	select {
	case err = <-done:
	case <-time.After(limit):
		out.hung = true
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGABRT) // prints the goroutines of the provider
		time.Sleep(200 * time.Millisecond)
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		err = <-done
	case <-ctx.Done():
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		return run{}, errors.Join(ctx.Err(), <-done)
	}
	out.took = time.Since(start)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return run{}, err
	}
	out.code = command.ProcessState.ExitCode()
	out.remaining = endGroup(command.Process.Pid)
	text, err := os.ReadFile(output.Name())
	out.output = string(bytes.ToValidUTF8(text, []byte("?")))
	out.messages = parseMessages(out.output)
	return out, err
}

// exitTimeout is how long a provider may outlive its command.
const exitTimeout = 10 * time.Second

// endGroup waits until all processes of a group have exited. It kills and returns the remaining ones.
func endGroup(pgid int) (remaining []string) {
	deadline := time.Now().Add(exitTimeout)
	for {
		left := group(pgid)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			for _, pid := range left {
				name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
				remaining = append(remaining, fmt.Sprintf("%s (%d)", strings.TrimSpace(string(name)), pid))
			}
			_ = syscall.Kill(-pgid, syscall.SIGKILL)
			return remaining
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// group lists the processes of a group except zombies, see proc(5).
func group(pgid int) []int {
	var out []int
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		fields := processStat(file)
		if len(fields) < 3 || fields[0] == "Z" || fields[2] != strconv.Itoa(pgid) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// processStat returns the fields of a /proc/PID/stat after the command: state, parent,
// group and more; nil if the process has exited.
func processStat(file string) []string {
	data, _ := os.ReadFile(file) // missing if the process has just exited
	_, rest, _ := strings.Cut(string(data), ") ")
	return strings.Fields(rest)
}
