package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// askedKey is where ask keeps its mark in private state.
const askedKey = "asked"

// privateState are what the provider remembers of a volume.
type privateState struct {
	// Waiting says that the last wait for it failed: the next plan waits again.
	Waiting bool `json:"waiting,omitempty"`
	// Protected repeats deletion_protection for the plan of a replacement,
	// which is not told of the state.
	Protected bool `json:"protected,omitempty"`
	// Imported says that the volume was imported and not updated since.
	Imported bool `json:"imported,omitempty"`
	// Empty says that the plan replaces the claim because it is not bound and so
	// holds no data. Nobody asked for the end of one that has been bound since.
	Empty bool `json:"empty,omitempty"`
}

// ask marks in a plan whether somebody asked for the end of the volume: by
// destroying it, by removing it from the configuration, or with -replace. A
// replacement that nobody asked for is one of a tainted volume, whose creation
// failed: Terraform plans it without asking the provider about the volume that
// goes. Every plan marks it again: what an earlier one asked for, and did not
// get, stays in the private state.
func ask(ctx context.Context, private owned.PrivateWriter, wanted bool) diag.Diagnostics {
	return owned.Save(ctx, private, askedKey, wanted)
}

func asked(ctx context.Context, private owned.PrivateReader) (bool, diag.Diagnostics) {
	return owned.Load[bool](ctx, private, askedKey)
}
