package owned

import (
	"context"
	"fmt"
	"iter"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

type unrecordedKey struct{}

// Unrecorded returns a context for the plan of a creation that Terraform will request again, so that the two are not
// taken for a conflict.
func Unrecorded(ctx context.Context) context.Context {
	return context.WithValue(ctx, unrecordedKey{}, true)
}

// PlanCreate records that a creation is planned. It returns an error if another resource of the run has the same
// object. replacement is true if the creation replaces a resource with the same address and name.
func PlanCreate(ctx context.Context, data *tf.ProviderData, creation *Creation, replacement bool) diag.Diagnostics {
	if !data.Configured() || creation.ID == "" || ctx.Value(unrecordedKey{}) != nil {
		return nil
	}
	// Deleting a PersistentVolumeClaim deletes its data, in either order of the two operations.
	mayDestroy := creation.Adopt && creation.Type != tf.VolumeType
	return conflict(data.Run.Planned(creation.resource()).Create(replacement, mayDestroy), creation.Type, creation.ID)
}

// PlanInState records what is planned for a resource in state: [run.Planned.Keep], unless it is replaced, or
// [run.Planned.Destroy], without a replacement. It returns an error if the provider is configured for another cluster.
func PlanInState(
	ctx context.Context, data *tf.ProviderData, private PrivateReader, resourceType string, id types.String,
	record func(*run.Planned) run.PlanConflict,
) diag.Diagnostics {
	if !data.Configured() || id.ValueString() == "" {
		return nil
	}
	if _, diags := ClusterOf(ctx, data, private, resourceType, id); diags.HasError() {
		return diags
	}
	return conflict(record(data.Run.Planned(resourceType+" "+id.ValueString())), resourceType, id.ValueString())
}

// PlanObjects records the keys of the objects of a resource. It returns an error if another resource of the run
// plans the same object.
func PlanObjects(data *tf.ProviderData, creation *Creation, keys iter.Seq[string]) diag.Diagnostics {
	if !data.Configured() || creation.ID == "" {
		return nil
	}
	for key := range keys {
		if other := data.Run.PlanObject(key, creation.resource()); other != "" {
			return diag.Diagnostics{creation.sharedError(key, other).Diagnostic}
		}
	}
	return nil
}

func conflict(found run.PlanConflict, resourceType, id string) diag.Diagnostics {
	summary, detail := fmt.Sprintf("Two %s resources are named %s", resourceType, id), ""
	switch found {
	case run.NoConflict:
		return nil
	case run.CreatedTwice:
		detail = fmt.Sprintf("Another %s of this configuration also creates %s, and both would write to the same "+
			"object.\n\n"+
			"Next step: Change the name or the namespace of one of them.", resourceType, id)
	case run.CreatedAndKept:
		detail = "One is in state and manages the object, and another one would be created with the same namespace " +
			"and name.\n\nNext step: Change the name or the namespace of one of them."
	case run.KeptTwice:
		detail = "Both are in state and manage the same object. Destroying one of them would delete it for both.\n\n" +
			"Next step: Remove one of them from the state and from the configuration:\n  terraform state rm ADDRESS"
	case run.KeptAndDestroyed:
		detail = "Both are in state and manage the same object. One of them would be destroyed, which would delete " +
			"the object of the other.\n\n" +
			"Next step: Remove the destroyed one from the state, which does not delete the object:\n" +
			"  terraform state rm ADDRESS\n" +
			"or remove it from the configuration with a removed block:\n" +
			"  removed {\n    from = ADDRESS\n    lifecycle {\n      destroy = false\n    }\n  }\n\n" +
			"If a replacement with create_before_destroy failed and left both at one address, remove that address " +
			"from the state and import the object:\n" + importBlock(resourceType, id)
	case run.CreatedAndDestroyed:
		summary = fmt.Sprintf("%s %s would be destroyed and created", resourceType, id)
		detail = "One resource of this run would destroy it, and another one would create it again with the same " +
			"namespace and name. The order of the two is undefined, and the data of the object may be lost.\n\n" +
			"If the resource was renamed in the configuration, add a moved block:\n" +
			fmt.Sprintf("  moved {\n    from = %[1]s.OLD\n    to   = %[1]s.NEW\n  }\n\n", resourceType) +
			"If it remains from a failed replacement with create_before_destroy, remove both from the state with " +
			"`terraform state rm`, and import the object:\n" + importBlock(resourceType, id) + "\n\n" +
			"To replace the object, destroy it in a separate run first."
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("name"), summary, detail)}
}
