//go:build !linux

package acctest

import "os/exec"

// startChild starts a command. Only Linux can stop it when this process is killed.
func startChild(command *exec.Cmd) error { return command.Start() }
