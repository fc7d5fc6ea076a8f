package owned

import (
	"context"
	"fmt"
	"iter"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// PlanCreate notes that creation is planned, and refuses it if another resource
// of the run has the same object. replacement says that it replaces a resource
// of the same address and name.
func PlanCreate(data *tf.ProviderData, creation *Creation, replacement bool) diag.Diagnostics {
	if !data.Configured() || creation.ID == "" {
		return nil
	}
	// A claim that is deleted takes its data along, whichever of the two comes first.
	mayDestroy := creation.Adopt && creation.Type != "kt_volume"
	return conflict(data.Cluster.Planned(creation.Type+" "+creation.ID).Create(replacement, mayDestroy), creation.Type, creation.ID)
}

// PlanKeep notes that a resource in state stays, unless it is replaced. It is an
// error in another cluster.
func PlanKeep(ctx context.Context, data *tf.ProviderData, private PrivateReader, resourceType string, id types.String) diag.Diagnostics {
	if !data.Configured() || id.ValueString() == "" {
		return nil
	}
	if _, diags := HomeOf(ctx, data, private, resourceType, id); diags.HasError() {
		return diags
	}
	return conflict(data.Cluster.Planned(resourceType+" "+id.ValueString()).Keep(), resourceType, id.ValueString())
}

// PlanDestroy notes that a resource is destroyed without a replacement. It is an
// error in another cluster.
func PlanDestroy(ctx context.Context, data *tf.ProviderData, private PrivateReader, resourceType string, id types.String) diag.Diagnostics {
	if !data.Configured() || id.ValueString() == "" {
		return nil
	}
	if _, diags := HomeOf(ctx, data, private, resourceType, id); diags.HasError() {
		return diags
	}
	return conflict(data.Cluster.Planned(resourceType+" "+id.ValueString()).Destroy(), resourceType, id.ValueString())
}

// PlanObjects notes which objects a resource is to have, by their keys, and
// refuses one that another resource of the run is to have as well.
func PlanObjects(data *tf.ProviderData, creation *Creation, keys iter.Seq[string]) diag.Diagnostics {
	if !data.Configured() || creation.ID == "" {
		return nil
	}
	for key := range keys {
		if other := data.Cluster.PlanObject(key, creation.resource()); other != "" {
			shared := &sharedError{object: key, resource: creation.resource(), other: other}
			return diag.Diagnostics{shared.diagnostic()}
		}
	}
	return nil
}

func conflict(found kube.PlanConflict, resourceType, id string) diag.Diagnostics {
	var summary, detail string
	switch found {
	case kube.NoConflict:
		return nil
	case kube.CreatedTwice:
		summary = fmt.Sprintf("Two %s resources are named %s", resourceType, id)
		detail = fmt.Sprintf("Another %s of this configuration creates %s as well, and both would write to the same object. "+
			"Change the name or the namespace of one of them.", resourceType, id)
	case kube.CreatedAndKept:
		summary = fmt.Sprintf("Two %s resources are named %s", resourceType, id)
		detail = "One is in state and has the object, and another one would be created with the same namespace and name. " +
			"Change the name or the namespace of one of them."
	case kube.KeptTwice:
		summary = fmt.Sprintf("Two %s resources are named %s", resourceType, id)
		detail = "Both are in state and have the same object, so destroying one of them would delete it for both. " +
			"Remove one of them from the state, and from the configuration:\n  terraform state rm ADDRESS"
	case kube.KeptAndDestroyed:
		summary = fmt.Sprintf("Two %s resources are named %s", resourceType, id)
		detail = "Both are in state and have the same object. One of them would be destroyed, which would delete the object of the one that stays. " +
			"Remove the one that goes from the state instead, which leaves the object alone:\n  terraform state rm ADDRESS\n" +
			"or take it out of the configuration with a removed block:\n" +
			"  removed {\n    from = ADDRESS\n    lifecycle {\n      destroy = false\n    }\n  }\n\n" +
			"If a replacement with create_before_destroy failed and left both at one address, remove that from the state, and import it:\n" +
			importBlock(resourceType, id)
	case kube.CreatedAndDestroyed:
		summary = fmt.Sprintf("%s %s would be destroyed and created", resourceType, id)
		detail = "One resource of this run would destroy it, and another one would create it again under the same namespace and name. " +
			"Which one comes last is not defined, and what the object holds may be lost.\n\n" +
			"If the resource was renamed in the configuration, add a moved block:\n" +
			fmt.Sprintf("  moved {\n    from = %[1]s.OLD\n    to   = %[1]s.NEW\n  }\n\n", resourceType) +
			"If a replacement with create_before_destroy failed and left it, remove both from the state with `terraform state rm`, " +
			"and import it:\n" + importBlock(resourceType, id) + "\n\n" +
			"To really replace it, destroy it in a run of its own."
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("name"), summary, detail)}
}
