package image

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// ModifyPlan renders the ConfigMap that will be applied, so that the plan shows
// its changes, and sends a server-side dry run.
func (r *imageResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var plan, state, config model
	creating := req.State.Raw.IsNull()
	if !creating {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(refuseIfProtected(&state)...)
		resp.Diagnostics.Append(owned.PlanDestroy(ctx, r.data, req.Private, "kt_image", state.ID)...)
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	memory, diags := owned.LoadMemory(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	remembered, diags := loadPrivateState(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	p := planner{r: r, plan: &plan, state: &state, config: &config, stored: remembered, memory: memory, creating: creating}
	if creating {
		p.stored = privateState{} // the private state belongs to the image that this one replaces, if any
	}
	p.resolveNamespace()
	if creating {
		p.diags.Append(owned.PlanCreate(r.data, p.creation(), memory.Remembers(keyOf(plan.ref())))...)
	} else {
		p.diags.Append(owned.PlanKeep(ctx, r.data, req.Private, "kt_image", state.ID)...)
	}
	p.build(ctx)
	if !p.diags.HasError() {
		p.dryRun(ctx)
	}
	p.decideUID()
	p.keepImported()
	if p.changesIdentity() {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("namespace"))
	}
	if p.replace {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("manifests"))
	}
	if p.stored.Ending {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("uid"))
	}
	if p.replaces() {
		resp.Diagnostics.Append(refuseIfProtected(&state)...)
	}
	resp.Diagnostics.Append(p.diags...)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

func refuseIfProtected(state *model) diag.Diagnostics {
	return owned.RefuseIfProtected(state.DeletionProtection.ValueBool(), "image", state.ID.ValueString())
}

// planner computes one plan. Its methods fill in plan, in the order in which
// ModifyPlan calls them.
type planner struct {
	r        *imageResource
	plan     *model
	state    *model // empty when creating
	config   *model
	stored   privateState
	memory   owned.Memory
	creating bool
	diags    diag.Diagnostics

	object  *unstructured.Unstructured // nil if an input is unknown
	replace bool                       // an immutable field changes
}

// resolveNamespace sets the namespace and the ID. A namespace that is not
// configured is resolved once and then preserved.
func (p *planner) resolveNamespace() {
	var diags diag.Diagnostics
	p.plan.Namespace, diags = owned.Namespace(p.r.data, p.config.Namespace, p.state.Namespace, "image")
	p.diags.Append(diags...)
	p.plan.ID = owned.Identity{Namespace: p.plan.Namespace, Name: p.plan.Name}.ID()
}

// build sets the attributes of the image and its setup, and renders the object.
func (p *planner) build(ctx context.Context) {
	p.plan.Manifests = types.MapUnknown(types.StringType)
	if !p.config.isSpecified(ctx) {
		p.plan.setUnknown(p.config, types.StringUnknown())
		return
	}
	in, diags := loadInputs(ctx, p.config)
	p.diags.Append(diags...)
	if diags.HasError() {
		return
	}
	pin, known := p.pin(ctx, in)
	rendered, diags := in.render(pin.Image)
	p.diags.Append(diags...)
	if p.diags.HasError() {
		return
	}
	if !known {
		p.plan.setUnknown(p.config, types.StringValue(rendered.Digest)) // the digest does not depend on the image
		return
	}
	p.plan.setComputed(p.config, pin, rendered)
	if p.plan.ID.IsUnknown() || !isFullyKnown(ctx, p.config.Labels, p.config.Annotations) || !p.r.configured() {
		return
	}
	obj, diags := p.plan.object(ctx, in, rendered, owned.PreserveCreator(p.r.data.Defaults, owned.Manifests(p.state.Manifests)))
	p.diags.Append(diags...)
	if diags.HasError() {
		return
	}
	key, summary, err := summarize(obj)
	if err != nil {
		p.diags.AddError("Cannot write the plan", err.Error())
		return
	}
	p.object, p.plan.Manifests = obj, manifests(key, summary)
}

// pin resolves the image to run: from the last refresh if that requested it,
// otherwise from its registry. If the registry does not respond, the image stays
// unknown.
func (p *planner) pin(ctx context.Context, b inputs) (registry.Pin, bool) {
	if pin, ok := b.withoutRegistry(); ok {
		return pin, true
	}
	if p.stored.Reference == b.reference && p.stored.Pin.Digest != "" {
		return p.stored.Pin, true
	}
	pin, err := p.r.registries().Resolve(ctx, b.reference)
	if err == nil {
		return pin, true
	}
	consequence := "The plan continues, but the image is unknown until apply, which requests it again."
	if failed, ok := errors.AsType[*registry.Error](err); ok && failed.Reason == registry.Invalid {
		consequence = "" // retrying does not help
	}
	p.diags.Append(pinFailure(err, consequence))
	return registry.Pin{}, false
}

// dryRun sends a server-side dry run of a new or changed ConfigMap.
func (p *planner) dryRun(ctx context.Context) {
	var creation *owned.Creation
	key, _ := p.state.applied()
	known := key != ""
	if !known {
		creation = p.creation()
	}
	if p.creating && p.object == nil && !p.plan.ID.IsUnknown() && p.r.configured() {
		p.r.data.Cluster.PreviewCreation(ctx, func() {
			p.diags.Append(owned.PreviewOwner(ctx, p.r.data.Cluster, p.plan.ref(), creation).Diagnostics(true, false)...)
		})
	}
	if p.object == nil || p.plan.Manifests.Equal(p.state.Manifests) || p.changesIdentity() {
		return
	}
	replacedUID := p.memory[manifest.Key(p.object)].UID
	if !p.creating {
		replacedUID = ""
	}
	if p.creating {
		p.r.data.Cluster.PreviewCreation(ctx, func() {
			p.diags.Append(owned.Preview(ctx, p.r.data.Cluster, p.object, creation, replacedUID).Diagnostics(true, false)...)
		})
		return
	}
	verdict := owned.Preview(ctx, p.r.data.Cluster, p.object, creation, replacedUID)
	p.replace = verdict.Immutable && known
	p.diags.Append(verdict.Diagnostics(p.creating, known)...)
	if known {
		p.diags.Append(p.memory.Staying(verdict.Ref, key, verdict.After)...)
	}
}

func (p *planner) creation() *owned.Creation {
	creation := p.plan.creation()
	if p.creating {
		creation.Replaced = p.memory
	}
	if p.r.configured() {
		creation.HeldBy = p.r.data.Cluster.HeldBy
	}
	return creation
}

// keepImported preserves the value that an import set for a setting that only
// the provider uses, if the plan then has no changes. Any update uses the
// configured settings.
func (p *planner) keepImported() {
	if p.creating || !p.stored.Imported {
		return
	}
	owned.PreserveImported(p.plan, p.state, func(plan *model) {
		owned.PreserveSetting(&plan.AdoptExisting, p.state.AdoptExisting, p.config.AdoptExisting)
	})
}

// decideUID marks the UID as unknown if the object will be created or replaced.
func (p *planner) decideUID() {
	p.plan.UID = p.state.UID
	if p.creating || p.replaces() || p.state.UID.IsNull() {
		p.plan.UID = types.StringUnknown()
	}
}

// replaces reports whether the ConfigMap must be replaced.
func (p *planner) replaces() bool { return p.changesIdentity() || p.replace || p.stored.Ending }

// changesIdentity reports whether the name or namespace changes.
func (p *planner) changesIdentity() bool {
	return !p.creating && (!p.plan.Name.Equal(p.state.Name) || !p.plan.Namespace.Equal(p.state.Namespace))
}
