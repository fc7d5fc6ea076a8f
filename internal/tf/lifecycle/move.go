package lifecycle

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// movedKey is the key of [Moved] in private state, from the move to the first update.
const movedKey = "moved"

// MoveState turns the state of a resource of another provider into one of which only the identity is known. The
// refresh that follows completes it like an import.
func (r *Resource[M, N]) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: func(
		ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse,
	) {
		source := MoveSource{Provider: req.SourceProviderAddress, Type: req.SourceTypeName,
			State: req.SourceRawState.JSON}
		moved, err := movedObject(source)
		if r.Kind.Moves == nil {
			resp.Diagnostics.AddError("Unsupported move", fmt.Sprintf("No other resource type can become a %s.\n\n"+
				"Next step: Remove the moved block.", r.Kind.Type))
			return
		}
		if err != nil || !r.Kind.Moves(moved.GroupKind()) || moved.Namespace == "" {
			resp.Diagnostics.AddError("Unsupported move", r.Kind.unsupported(source, moved, err))
			return
		}
		identity := owned.Identity{Namespace: types.StringValue(moved.Namespace), Name: types.StringValue(moved.Name)}
		resp.Diagnostics.Append(identity.SetIn(ctx, &resp.TargetState, resp.TargetIdentity)...)
		resp.Diagnostics.Append(owned.Save(ctx, resp.TargetPrivate, movedKey, moved)...)
	}}}
}

// NothingToImport reports that the object of the resource does not exist. It returns [owned.ErrGone].
func (r *Reading[M, N]) NothingToImport(detail string) error {
	if r.Moved == nil {
		r.Diags.AddError("Nothing to import", detail)
		return owned.ErrGone
	}
	r.Diags.AddError("The moved object does not exist", fmt.Sprintf("%s belongs to a %s in the state, but %s\n\n"+
		"Next step: Configure this provider for the cluster of that resource. If the object was deleted, remove the "+
		"moved block, and the old resource from the state:\n  terraform state rm ADDRESS", r.Moved, r.Moved.From,
		detail))
	return owned.ErrGone
}

// checkMoved returns an error if the imported object is another one than the source of the move has managed.
func checkMoved(moved *Moved, uid types.String) diag.Diagnostics {
	if moved == nil || moved.UID == "" || uid.ValueString() == "" || moved.UID == uid.ValueString() {
		return nil
	}
	return diag.Diagnostics{diag.NewErrorDiagnostic("The moved object is another one", fmt.Sprintf(
		"The state of the %s contains %s with the UID %s. In the cluster of this provider, that object has the UID "+
			"%s.\n\nNext step: Configure this provider for the cluster of that resource. If the object was deleted "+
			"and created again, refresh the state before the move:\n  terraform apply -refresh-only", moved.From,
		moved, moved.UID, uid.ValueString()))}
}

// planMoved rejects a plan that would delete the object of a moved resource before an apply has taken it over.
func (p *Planning[M, N]) planMoved(k Kind) diag.Diagnostics {
	if p.Moved == nil {
		return nil
	}
	var why string
	switch {
	case p.Creating:
		why = "since the resource is tainted, or because of -replace.\n\n" + untaint
	case len(p.Replace) > 0:
		attributes := kind.Each(p.Replace, path.Path.String)
		slices.Sort(attributes)
		why = fmt.Sprintf("because of: %s.\n\nNext step: Change the configuration so that it matches the object. To "+
			"replace the object, remove the moved block and the %s instead, so that Terraform deletes the object and "+
			"creates the %s.", strings.Join(slices.Compact(attributes), ", "), p.Moved.From, k.Noun)
	default:
		return nil
	}
	return diag.Diagnostics{diag.NewErrorDiagnostic(fmt.Sprintf("A moved %s cannot be replaced", k.Noun), fmt.Sprintf(
		"%s is moved from a %s. The plan would delete the object and create it again, %s", p.Moved, p.Moved.From, why))}
}

const untaint = "Next step: Remove the mark, and plan without -replace:\n  terraform untaint ADDRESS"

// destroyKey is the key in private state that records whether the deletion was requested. The plan of a destruction
// sets it.
const destroyKey = "destroy"

// refuseUnapplied rejects the deletion of objects that this provider has never applied, of which no plan was made. It
// is a part of the replacement of a tainted resource: Terraform plans that as a creation without the prior state, and
// the deletion gets neither the private state nor a plan. A resource can be tainted before it is moved.
func (r *Resource[M, N]) refuseUnapplied(state *Common) diag.Diagnostics {
	for _, obj := range owned.Manifests(state.Manifests) {
		if !isIdentity(obj) {
			continue
		}
		return diag.Diagnostics{diag.NewErrorDiagnostic("A tainted "+r.Kind.Noun+" is not replaced", fmt.Sprintf(
			"%s %s/%s was moved from another resource or imported, and this provider has not changed it yet. The "+
				"resource is tainted, so this run would delete the object and create it again. The deletion was "+
				"rejected.\n\n%s", obj.GetKind(), obj.GetNamespace(), obj.GetName(), untaint))}
	}
	return nil
}

// isIdentity reports whether an object has no other fields than those that identify it, like an imported object of
// somebody else in state.
func isIdentity(obj *unstructured.Unstructured) bool {
	identity := kind.Kind{GroupVersionKind: obj.GroupVersionKind()}.Named(obj.GetNamespace(), obj.GetName())
	return reflect.DeepEqual(obj.Object, identity.Object)
}

// requireRefresh returns an error for a moved resource that was not refreshed. Its state contains no objects, so an
// update would not find them, and a deletion would leave them in the cluster.
func requireRefresh(moved *Moved, state *Common) diag.Diagnostics {
	if moved == nil || !state.Manifests.IsNull() {
		return nil
	}
	return diag.Diagnostics{diag.NewErrorDiagnostic("A moved resource has to be refreshed", fmt.Sprintf(
		"%s is moved from a %s, and its state is read from the cluster. That requires a refresh, with a provider "+
			"configuration that is known.\n\nNext step: Plan without -refresh=false. If the provider configuration "+
			"depends on resources of this run, apply these first.", moved, moved.From))}
}

// loadMoved returns nil for a resource that was not moved, or that has been updated since.
func loadMoved(ctx context.Context, private owned.PrivateReader) (*Moved, diag.Diagnostics) {
	return owned.Load[*Moved](ctx, private, movedKey)
}
