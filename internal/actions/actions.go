// Package actions implements the actions of the provider: operations on running computes that change no state. They
// need Terraform 1.14 or newer.
package actions

import "github.com/hashicorp/terraform-plugin-framework/action"

// All returns the constructors of the actions.
func All() []func() action.Action {
	return []func() action.Action{}
}
