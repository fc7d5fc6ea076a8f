// Command meter starts the provider in the same directory and records the CPU time and
// the peak memory of its process when it has ended. Terraform starts meter instead of the
// provider. Both end if Terraform is killed, as the provider does without meter.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/parent"
)

// File is the environment variable with the path of the file to which records are appended.
const File = "KT_BENCH_METER"

// Record is written when the provider has been started, and again when it has ended.
type record struct {
	Ended   bool
	CPU     time.Duration
	PeakKiB int64
}

func main() {
	go parent.Watch(context.Background(), parent.Same(), time.Second, func() { os.Exit(1) })
	code, err := run()
	if err != nil {
		log.Print(err)
	}
	os.Exit(code)
}

// run returns the exit code of the provider.
func run() (int, error) {
	executable, err := os.Executable()
	if err != nil {
		return 1, err
	}
	command := exec.Command(filepath.Join(filepath.Dir(executable), "provider"), os.Args[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	// The provider does not outlive the thread that starts it, see PR_SET_PDEATHSIG in prctl(2).
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	if err := command.Start(); err != nil {
		return 1, err
	}
	if err := write(record{}); err != nil {
		return 1, errors.Join(err, command.Process.Kill(), command.Wait())
	}
	_ = command.Wait() // its exit code is passed on
	state := command.ProcessState
	r := record{Ended: true, CPU: state.UserTime() + state.SystemTime()}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		r.PeakKiB = usage.Maxrss
	}
	return state.ExitCode(), write(r)
}

func write(r record) (err error) {
	file, err := os.OpenFile(os.Getenv(File), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return json.NewEncoder(file).Encode(r)
}
