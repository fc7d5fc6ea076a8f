// Package azure stands in for a backend that is not part of Terraform's Go module, and that tests do not use.
package azure

import "github.com/hashicorp/terraform/internal/backend"

// New panics.
func New() backend.Backend { panic("this build of Terraform has no such backend") }
