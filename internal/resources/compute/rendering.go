package compute

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// rendering is how what runs in the pods is rendered, besides the attributes.
type rendering struct {
	version  string // release of Kubetorch
	revision manifest.Revision
}

// renderings are those of one compute: the one that its objects have, and the
// one that they get once their pods change anyway.
type renderings struct{ kept, next rendering }

func (r renderings) differ() bool {
	return r.kept.version != r.next.version || r.kept.revision.Number != r.next.revision.Number
}

// renderingsOf chooses how to render. What the configuration says counts at once.
// Else the objects keep what they were made with, and new ones get the newest.
func renderingsOf(data *tf.ProviderData, config, state *model, prior objects) (renderings, diag.Diagnostics) {
	revisions := data.Revisions
	newest := rendering{version: manifest.KubetorchVersion, revision: revisions[len(revisions)-1]}
	if version := cmp.Or(config.KubetorchVersion.ValueString(), data.Defaults.KubetorchVersion); version != "" {
		newest.version = version
	}
	asked := config.RendererRevision.ValueInt64()
	if asked != 0 {
		chosen, ok := revisionNumbered(revisions, asked)
		if !ok {
			var diags diag.Diagnostics
			diags.AddAttributeError(path.Root("renderer_revision"), "Unknown renderer_revision",
				fmt.Sprintf("renderer_revision is %d, but this release of the provider renders 1 to %d. "+
					"Remove it, or use another release.", asked, newest.revision.Number))
			return renderings{}, diags
		}
		newest.revision = chosen
	}
	if len(prior) == 0 {
		return renderings{kept: newest, next: newest}, nil
	}
	kept := newest
	if config.KubetorchVersion.IsNull() && data.Defaults.KubetorchVersion == "" {
		kept.version = cmp.Or(state.KubetorchVersion.ValueString(), prior.label(kind.VersionLabel), newest.version)
	}
	if asked == 0 { // states of the first release name no revision
		if made, ok := revisionNumbered(revisions, max(1, state.RendererRevision.ValueInt64())); ok {
			kept.revision = made
		}
	}
	return renderings{kept: kept, next: newest}, nil
}

func revisionNumbered(revisions []manifest.Revision, number int64) (manifest.Revision, bool) {
	i := slices.IndexFunc(revisions, func(r manifest.Revision) bool { return r.Number == number })
	if i < 0 {
		return manifest.Revision{}, false
	}
	return revisions[i], true
}

// renderPods renders with what the objects were made with, and if that changes
// their pods, with the newest: they restart in any case.
func (p *planner) renderPods(ctx context.Context, prior objects, with renderOptions) objects {
	found, diags := renderingsOf(p.Data, p.Config, p.State, prior)
	p.Diags.Append(diags...)
	if diags.HasError() {
		return nil
	}
	with.rendering = found.kept
	rendered := p.renderWith(ctx, prior, with)
	if found.differ() && !p.Diags.HasError() && !p.samePods(prior, rendered) {
		with.rendering = found.next
		rendered = p.renderWith(ctx, prior, with)
	}
	p.showRendering(with.rendering)
	return rendered
}

func (p *planner) renderWith(ctx context.Context, prior objects, with renderOptions) objects {
	rendered, diags := render(ctx, p.Plan.asConfigured(p.Config), with)
	p.Diags.Append(diags...)
	if p.Diags.HasError() {
		return nil
	}
	rendered = p.leaveIgnored(ctx, rendered, prior, with)
	if !p.PrivateState.EmptyText {
		rendered = rendered.keepWithoutEmptyText(prior)
	}
	return rendered.keepImported(prior, p.PrivateState.Imported, func(planned, prior *object) bool {
		return p.unchangedSinceImport(ctx, planned, prior)
	})
}

func (p *planner) samePods(prior, rendered objects) bool {
	was, err := prior.workload()
	if err != nil {
		return false
	}
	will, err := rendered.workload()
	if err != nil {
		return false
	}
	if was == nil || will == nil {
		return (was == nil) == (will == nil)
	}
	return was.GroupVersionKind() == will.GroupVersionKind() &&
		manifest.SamePods(was, will, fieldPath(p.Plan.PodTemplatePath)...)
}

// showRendering fills in the attributes that say how the pods are rendered.
func (p *planner) showRendering(r rendering) {
	if manifest.RunsTensorServer(p.Plan.Runtime.ValueString()) {
		p.Plan.KubetorchVersion, p.Plan.RendererRevision = types.StringNull(), types.Int64Null()
		return
	}
	p.Plan.KubetorchVersion, p.Plan.RendererRevision = types.StringValue(r.version), types.Int64Value(r.revision.Number)
}

// leaveRendering fills in the attributes where nothing is rendered yet: a later
// plan knows whether the pods change, and how.
func (p *planner) leaveRendering() {
	p.Plan.KubetorchVersion, p.Plan.RendererRevision = p.Config.KubetorchVersion, p.Config.RendererRevision
	if manifest.RunsTensorServer(p.Plan.Runtime.ValueString()) {
		return
	}
	if p.Plan.KubetorchVersion.IsNull() {
		p.Plan.KubetorchVersion = types.StringUnknown()
	}
	if p.Plan.RendererRevision.IsNull() {
		p.Plan.RendererRevision = types.Int64Unknown()
	}
}

// keepUnsaid leaves the attributes null in a state of an earlier release, which
// a refresh has not filled in, where nothing changes.
func (p *planner) keepUnsaid() {
	if p.Creating || !p.Plan.Manifests.Equal(p.State.Manifests) {
		return
	}
	if p.State.KubetorchVersion.IsNull() && p.Config.KubetorchVersion.IsNull() {
		p.Plan.KubetorchVersion = p.State.KubetorchVersion
	}
	if p.State.RendererRevision.IsNull() && p.Config.RendererRevision.IsNull() {
		p.Plan.RendererRevision = p.State.RendererRevision
	}
}

// restarts warns where the pods restart for no other reason than that somebody
// asks for another version or revision.
func (p *planner) restarts(prior objects) {
	if p.Creating || p.replaces() || p.moves() || p.Plan.Suspend.ValueBool() || p.samePods(prior, p.rendered) {
		return
	}
	moved := func(name string, asked bool, before, after attr.Value) {
		if asked && !before.IsNull() && !before.Equal(after) {
			p.Diags.AddAttributeWarning(path.Root(name), "The pods restart",
				fmt.Sprintf("%s changes from %s to %s, and with it the pod template. Changing this restarts the pods.",
					name, before, after))
		}
	}
	asksVersion := !p.Config.KubetorchVersion.IsNull() || p.Data.Defaults.KubetorchVersion != ""
	moved("kubetorch_version", asksVersion, p.State.KubetorchVersion, p.Plan.KubetorchVersion)
	moved("renderer_revision", !p.Config.RendererRevision.IsNull(), p.State.RendererRevision, p.Plan.RendererRevision)
}

// observeRendering fills in the attributes from objects that were applied, for
// a state of an earlier release and for an import.
func (m *model) observeRendering(applied objects) {
	if manifest.RunsTensorServer(m.Runtime.ValueString()) {
		return
	}
	if version := applied.label(kind.VersionLabel); m.KubetorchVersion.IsNull() && version != "" {
		m.KubetorchVersion = types.StringValue(version)
	}
	if m.RendererRevision.IsNull() && !m.KubetorchVersion.IsNull() {
		m.RendererRevision = types.Int64Value(1)
	}
}

// fillRendering makes what is unknown of the attributes known after an apply.
func (m *model) fillRendering(r rendering) {
	if m.KubetorchVersion.IsUnknown() {
		m.KubetorchVersion = types.StringValue(r.version)
	}
	if m.RendererRevision.IsUnknown() {
		m.RendererRevision = types.Int64Value(r.revision.Number)
	}
}
