package queue

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// planner completes one plan. [hooks.Plan] calls its methods in order.
type planner struct {
	*planning

	prior    owned.Objects // nil while the configuration is not fully known
	rendered owned.Objects // nil while the configuration is not fully known
	wanted   spec
}

// Plan renders the objects that will be applied, and validates the changes with a server-side dry run.
func (hooks) Plan(ctx context.Context, planned *planning) {
	p := &planner{planning: planned}
	p.ReplaceIfMoved()
	if !p.Creating && !p.Plan.KAI.IsUnknown() && p.Plan.ofKAI() != p.State.ofKAI() {
		p.Replace.Append(path.Root("kai"))
	}
	if p.ConfigKnown() && !p.Plan.ID.IsUnknown() && p.Data.Configured() {
		p.render(ctx)
	} else {
		p.Plan.Manifests = types.MapUnknown(types.StringType)
	}
	if p.Diags.HasError() {
		return
	}
	if len(p.Replace) == 0 { // otherwise, Terraform plans the replacement next, as a creation
		p.dryRun(ctx)
	}
	p.status()
	p.PreserveImported(!p.PrivateState.Configured && len(p.PrivateState.Imported) > 0)
}

// render sets the attribute manifests.
func (p *planner) render(ctx context.Context) {
	prior, err := owned.ObjectsOf(p.State.Manifests)
	if err != nil {
		p.Diags.AddError("Cannot read the state", err.Error())
		return
	}
	wanted, diags := p.Plan.spec(ctx, p.Data.Defaults)
	p.Diags.Append(diags...)
	rendered, diags := render(wanted)
	p.Diags.Append(diags...)
	if p.Diags.HasError() {
		return
	}
	p.refuseSharedFlavors(wanted.Queue)
	if p.Diags.HasError() {
		return
	}
	p.Diags.Append(owned.PlanObjects(p.Data, p.Creation(), maps.Keys(rendered))...)
	p.prior, p.wanted = prior, wanted
	p.rendered = p.PreserveObjects(ctx, rendered, prior, p.PrivateState.Imported)
	p.Plan.Manifests = p.rendered.Value()
}

// render returns the objects of a queue.
func render(queue spec) (owned.Objects, diag.Diagnostics) {
	contents, err := queue.render()
	var objects owned.Objects
	if err == nil {
		objects, err = owned.Rendered(contents)
	}
	if err != nil {
		return nil, renderErrors(err)
	}
	return objects, nil
}

// dryRun validates each new or changed object with a server-side dry run. An unchanged object costs no request.
func (p *planner) dryRun(ctx context.Context) {
	changed, obsolete := p.rendered.ChangedFrom(p.prior)
	if p.rendered == nil || len(changed)+len(obsolete) == 0 || p.Short() {
		return
	}
	validated := true
	p.Data.Run.Preview(func() { validated = p.preview(ctx, changed) })
	if validated {
		p.warn(ctx)
		p.warnOfFlavors(obsolete)
	}
}

// preview validates the changed objects. It returns false if further checks would only report the same problem.
func (p *planner) preview(ctx context.Context, changed owned.Objects) bool {
	for _, obj := range changed.Sorted(kueue.Rank) {
		key := manifest.Key(obj)
		inState, before := p.prior[key] != nil, len(p.Diags)
		verdict := p.DryRun(ctx, obj, inState, p.Replaced[key].UID)
		if verdict.Is(kube.Refused) && p.changesParent() {
			p.Diags = p.Diags[:before]
			p.Diags.AddAttributeWarning(path.Root("kai").AtName("parent_queue"), "Planned without the check of KAI",
				fmt.Sprintf("KAI rejects the queue as long as its parent queue does not exist, and this run manages "+
					"the parent queue, too. The response of KAI: %v", verdict.Err))
			continue
		}
		if verdict.Is(kube.Immutable) && inState {
			p.Diags.AddError("Immutable field of "+verdict.Ref.String()+" changed", "The plan would change a field "+
				"that cannot be changed, such as node_labels of a flavor with topology_name.\n\n"+
				"Next step: Check what the plan changes in manifests. Revert this change, or use another name.")
		}
		if verdict.Unreachable() || p.Diags.HasError() {
			return false
		}
	}
	return true
}

// status sets the UID and the attributes that Kueue or KAI reports.
func (p *planner) status() {
	changes := p.Creating || len(p.Replace) > 0 || !p.Plan.Manifests.Equal(p.State.Manifests)
	applied := changes || p.PrivateState.Waiting && p.Plan.waits()
	p.Plan.UID, p.Plan.queueStatus = p.UID(p.State.UID, applied), p.State.queueStatus
	if applied {
		p.Plan.queueStatus = p.Plan.unknownStatus()
	}
}
