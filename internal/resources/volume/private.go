package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// destroyRequestedKey is the key in private state that markDestroyRequested sets.
const destroyRequestedKey = "asked"

// privateState is what the provider remembers of a volume.
type privateState struct {
	// Waiting is true if the last wait did not complete. The next apply then waits again.
	Waiting bool `json:"waiting,omitempty"`
	// Protected is a copy of deletion_protection for the plan of a replacement, which does not get the state.
	Protected bool `json:"protected,omitempty"`
	// Imported is true if the volume was imported and not updated since.
	Imported bool `json:"imported,omitempty"`
	// Empty is true if the plan replaces the claim because it is not bound and therefore contains no data. If it has
	// been bound since, its deletion was not requested.
	Empty bool `json:"empty,omitempty"`
}

// markDestroyRequested marks in a plan whether the deletion of the volume was requested: by a destroy, by removing
// it from the configuration, or with -replace. A replacement that was not requested is that of a tainted volume,
// whose creation failed. Terraform plans it without a request to the provider for the old volume. Every plan sets the
// mark again, because the mark of an earlier plan that was not applied remains in the private state.
func markDestroyRequested(ctx context.Context, private owned.PrivateWriter, requested bool) diag.Diagnostics {
	return owned.Save(ctx, private, destroyRequestedKey, requested)
}

func destroyRequested(ctx context.Context, private owned.PrivateReader) (bool, diag.Diagnostics) {
	return owned.Load[bool](ctx, private, destroyRequestedKey)
}
