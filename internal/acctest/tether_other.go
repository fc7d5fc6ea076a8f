//go:build !linux

package acctest

import "os/exec"

// startTethered only starts the command: other systems have no such tether.
func startTethered(command *exec.Cmd) error { return command.Start() }
