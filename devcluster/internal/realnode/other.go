//go:build !linux

package realnode

import (
	"context"
	"errors"
	"net/netip"
)

// InitCommand is the subcommand of this binary that calls Init.
const InitCommand = "node-init"

var errLinux = errors.New("--kubelet requires Linux to run containers")

// Check returns an error if this machine does not meet the requirements of a real node.
func Check() error { return errLinux }

// FreeNetwork returns a network that this machine does not use.
func FreeNetwork([]netip.Prefix) (netip.Prefix, error) { return netip.Prefix{}, errLinux }

// Run starts the node.
func Run(context.Context, Config) error { return errLinux }

// Init is the node's first process.
func Init(string) error { return errLinux }
