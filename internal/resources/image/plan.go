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

// ModifyPlan makes the ConfigMap that will be applied, so that the plan shows
// what changes in it, and asks the cluster whether it would take it.
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
	remembered, diags := loadNotes(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	p := planner{r: r, plan: &plan, state: &state, config: &config, notes: remembered, memory: memory, creating: creating}
	if creating {
		p.notes = notes{} // what is remembered is of the image that this one replaces, if any
	}
	p.place()
	if creating {
		p.diags.Append(owned.PlanCreate(r.data, p.creation(), memory[keyOf(plan.ref())].UID != "")...)
	} else {
		p.diags.Append(owned.PlanKeep(ctx, r.data, req.Private, "kt_image", state.ID)...)
	}
	p.build(ctx)
	if !p.diags.HasError() {
		p.dryRun(ctx)
	}
	p.decideUID()
	p.keepImported()
	if p.moves() {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("namespace"))
	}
	if p.replace {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("manifests"))
	}
	if p.notes.Ending {
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

// planner works out one plan. Its methods fill in plan, in the order in which
// ModifyPlan calls them.
type planner struct {
	r        *imageResource
	plan     *model
	state    *model // empty when creating
	config   *model
	notes    notes
	memory   owned.Memory
	creating bool
	diags    diag.Diagnostics

	object  *unstructured.Unstructured // nil while something is unknown
	replace bool                       // a field changes that Kubernetes does not let change
}

// place finds the namespace and what follows from it. One that the
// configuration leaves out is found once and then kept.
func (p *planner) place() {
	var diags diag.Diagnostics
	p.plan.Namespace, diags = owned.Namespace(p.r.data, p.config.Namespace, p.state.Namespace, "image")
	p.diags.Append(diags...)
	p.plan.ID = owned.Identity{Namespace: p.plan.Namespace, Name: p.plan.Name}.ID()
}

// build fills in what runs and how it is set up, and the object with it.
func (p *planner) build(ctx context.Context) {
	p.plan.Manifests = types.MapUnknown(types.StringType)
	if !p.config.isSpecified(ctx) {
		p.plan.hide(p.config, types.StringUnknown())
		return
	}
	drawn, diags := draw(ctx, p.config)
	p.diags.Append(diags...)
	if diags.HasError() {
		return
	}
	pin, known := p.pin(ctx, drawn)
	rendered, diags := drawn.render(pin.Image)
	p.diags.Append(diags...)
	if p.diags.HasError() {
		return
	}
	if !known {
		p.plan.hide(p.config, types.StringValue(rendered.Digest)) // which does not depend on the image
		return
	}
	p.plan.show(p.config, pin, rendered)
	if p.plan.ID.IsUnknown() || !wholly(ctx, p.config.Labels, p.config.Annotations) || !p.r.configured() {
		return
	}
	obj, diags := p.plan.object(ctx, drawn, rendered, p.state.keepCreator(p.r.data.Defaults))
	p.diags.Append(diags...)
	if diags.HasError() {
		return
	}
	key, summary, err := summarize(obj)
	if err != nil {
		p.diags.AddError("The plan cannot be written", err.Error())
		return
	}
	p.object, p.plan.Manifests = obj, manifests(key, summary)
}

// pin finds the image to run: from the last refresh where that has asked for
// it, else from its registry. One that does not answer leaves it unknown.
func (p *planner) pin(ctx context.Context, b blueprint) (registry.Pin, bool) {
	if pin, given := b.given(); given {
		return pin, true
	}
	if p.notes.Reference == b.reference && p.notes.Pin.Digest != "" {
		return p.notes.Pin, true
	}
	pin, err := p.r.registries().Resolve(ctx, b.reference)
	if err == nil {
		return pin, true
	}
	consequence := "The plan stands, but which image runs is known only at apply, which asks again."
	if failed, ok := errors.AsType[*registry.Error](err); ok && failed.Reason == registry.Invalid {
		consequence = "" // asking again does not help
	}
	p.diags.Append(pinFailure(err, consequence))
	return registry.Pin{}, false
}

// dryRun asks the server about a ConfigMap that is new or changes.
func (p *planner) dryRun(ctx context.Context) {
	var creation *owned.Creation
	key, _ := p.state.applied()
	known := key != ""
	if !known {
		creation = p.creation()
	}
	if p.creating && p.object == nil && !p.plan.ID.IsUnknown() && p.r.configured() {
		p.diags.Append(owned.PreviewOwner(ctx, p.r.data.Cluster, p.plan.ref(), creation).Diagnostics(true, false)...)
	}
	if p.object == nil || p.plan.Manifests.Equal(p.state.Manifests) || p.moves() {
		return
	}
	goes := p.memory[manifest.Key(p.object)].UID
	if !p.creating {
		goes = ""
	}
	verdict := owned.Preview(ctx, p.r.data.Cluster, p.object, creation, goes)
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
		creation.Held = p.r.data.Cluster.Holds
	}
	return creation
}

// keepImported keeps the default that an import gave to a setting of the
// provider alone, where the plan then changes nothing at all: an update takes
// every setting from the configuration.
func (p *planner) keepImported() {
	if p.creating || !p.notes.Imported || p.config.AdoptExisting.IsNull() || p.state.AdoptExisting.IsNull() {
		return
	}
	kept := *p.plan
	kept.AdoptExisting = p.state.AdoptExisting
	if owned.Unchanged(&kept, p.state) {
		*p.plan = kept
	}
}

// decideUID says whether it will be another object.
func (p *planner) decideUID() {
	p.plan.UID = p.state.UID
	if p.creating || p.replaces() || p.state.UID.IsNull() {
		p.plan.UID = types.StringUnknown()
	}
}

// replaces says whether the ConfigMap has to be made anew.
func (p *planner) replaces() bool { return p.moves() || p.replace || p.notes.Ending }

// moves says whether another name or namespace makes it another object.
func (p *planner) moves() bool {
	return !p.creating && (!p.plan.Name.Equal(p.state.Name) || !p.plan.Namespace.Equal(p.state.Namespace))
}
