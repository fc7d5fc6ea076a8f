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
	"slices"
	"strings"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/bench/answer"
)

// usage is what one run needed.
type usage struct {
	start         time.Time
	wall          time.Duration
	cli, provider time.Duration // of CPU
	peakKiB       int           // of the largest process of the provider
	requests      int           // of the provider to the API server
	killed        bool          // a process of the provider was killed, and is not in the CPU times
}

func (u usage) end() time.Time { return u.start.Add(u.wall) }

// command is a run of the CLI.
type command struct {
	dir     string
	subject subject
	args    []string
	says    string   // part of the output that proves what the run did
	env     []string // in addition to that of the bench
}

// exitCodeChanges is the exit code of a plan with changes.
const exitCodeChanges = 2

// run runs the CLI.
func (b *bench) run(ctx context.Context, c command) (usage, error) {
	meter := filepath.Join(b.dir, "meter")
	if err := os.RemoveAll(meter); err != nil {
		return usage{}, err
	}
	cmd := b.cmd(ctx, c)
	cmd.Args = slices.Insert(cmd.Args, 2, "-no-color", "-input=false") // after the name of the command
	cmd.Env = append(cmd.Env, "KT_BENCH_METER="+meter)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	u := usage{start: time.Now()}
	err := cmd.Run()
	u.wall = time.Since(u.start)
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == exitCodeChanges {
		err = nil
	}
	if err == nil && !strings.Contains(out.String(), c.says) {
		err = fmt.Errorf("the output does not contain %q", c.says)
	}
	if err == nil {
		err = u.addProcesses(meter, cmd.ProcessState)
	}
	if err != nil {
		err = fmt.Errorf("%s %s with %s: %w\n%s", b.cli, strings.Join(c.args, " "), c.subject, err,
			excerpt(out.String()))
	}
	return u, err
}

// output runs the CLI and returns its output.
func (b *bench) output(ctx context.Context, c command) ([]byte, error) {
	cmd := b.cmd(ctx, c)
	cmd.Stderr = os.Stderr
	cmd.Env = append(cmd.Env, "KT_BENCH_METER="+os.DevNull)
	return cmd.Output()
}

func (b *bench) cmd(ctx context.Context, c command) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.cli, c.args...)
	cmd.Dir = c.dir
	cmd.Env = append(environment(), "TF_CLI_CONFIG_FILE="+b.settings(c.subject), "CHECKPOINT_DISABLE=1",
		answer.File+"="+b.answers())
	cmd.Env = append(cmd.Env, c.env...)
	return cmd
}

// environment returns the variables of the bench without those that change what is measured.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return slices.ContainsFunc([]string{"GOGC=", "GOMEMLIMIT=", "GOMAXPROCS=", "GODEBUG=", "TF_", "KT_", "KUBE"},
			func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
}

// addProcesses adds the CPU times. Those of the CLI's process include its children.
func (u *usage) addProcesses(meter string, cli *os.ProcessState) error {
	data, err := os.ReadFile(meter)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // terraform_data has no process
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	running := 0
	for decoder.More() {
		var process struct {
			Ended   bool
			CPU     time.Duration
			PeakKiB int
		}
		if err := decoder.Decode(&process); err != nil {
			return err
		}
		if !process.Ended {
			running++
			continue
		}
		running--
		u.provider += process.CPU
		u.peakKiB = max(u.peakKiB, process.PeakKiB)
	}
	u.killed = running != 0 // it did not end in the two seconds that it has
	u.cli = cli.UserTime() + cli.SystemTime() - u.provider
	return nil
}

// excerpt returns the beginning and the end of the output.
func excerpt(text string) string {
	const lines = 40
	all := strings.Split(text, "\n")
	if len(all) <= 2*lines {
		return text
	}
	return strings.Join(all[:lines], "\n") + "\n[…]\n" + strings.Join(all[len(all)-lines:], "\n")
}
