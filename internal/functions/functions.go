// Package functions implements the functions of the provider. They are pure: no cluster is needed.
package functions

import "github.com/hashicorp/terraform-plugin-framework/function"

// All returns the constructors of the functions.
func All() []func() function.Function {
	return []func() function.Function{newManifests, newQuantity, newDuration, newGPUsTotal, newFits}
}
