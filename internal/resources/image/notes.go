package image

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// notesKey is where the notes are kept in the resource's private state.
const notesKey = "notes"

// notes are what the provider remembers of an image.
//
// A digest is asked for in a refresh, and from there comes into the plan: in an
// apply Terraform plans once more, without a refresh, and must then find the
// digest that it has shown, wherever the tag points by now.
type notes struct {
	// Reference is the image that was last pinned, and Pin what its registry
	// said last.
	Reference string       `json:"reference,omitempty"`
	Pin       registry.Pin `json:"pin,omitzero"`
	// Ending says that the ConfigMap was being deleted when it was last looked at.
	Ending bool `json:"ending,omitempty"`
	// Imported says that the ConfigMap was imported and not applied since.
	Imported bool `json:"imported,omitempty"`
}

func loadNotes(ctx context.Context, private owned.PrivateReader) (notes, diag.Diagnostics) {
	return owned.Load[notes](ctx, private, notesKey)
}

func (n notes) save(ctx context.Context, private owned.PrivateWriter) diag.Diagnostics {
	return owned.Save(ctx, private, notesKey, n)
}
