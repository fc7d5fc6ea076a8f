// Package actions implements the actions of the provider: operations on running computes that change no state. They
// need Terraform 1.14 or newer.
package actions

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
)

// defaultTimeout is the default timeout of actions that wait for pods.
const defaultTimeout = 15 * time.Minute

// All returns the constructors of the actions.
func All() []func() action.Action {
	return []func() action.Action{
		checkpoint, evacuate, restart, resume, runCommand, scale, showLogs, suspend, trigger, uncordon,
	}
}
