package compute

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// versions determine the content of the pods in addition to the attributes.
type versions struct {
	kubetorch string
	revision  manifest.Revision
}

// versionsOf returns the versions of the prior objects and those for the next restart of their pods. A version of the
// configuration applies at once. Otherwise, existing objects keep their versions, and new objects get the newest.
func versionsOf(
	data *tf.ProviderData, config, state *model, prior owned.Objects,
) (current, next versions, diags diag.Diagnostics) {
	revisions := data.Revisions
	newest := revisions[len(revisions)-1]
	next = versions{
		kubetorch: cmp.Or(config.KubetorchVersion.ValueString(), data.Defaults.KubetorchVersion,
			manifest.KubetorchVersion),
		revision: newest,
	}
	revision := config.RendererRevision.ValueInt64()
	if revision != 0 {
		var ok bool
		if next.revision, ok = revisionNumbered(revisions, revision); !ok {
			diags.AddAttributeError(path.Root("renderer_revision"), "Unknown renderer_revision",
				fmt.Sprintf("renderer_revision is %d, but this release of the provider renders 1 to %d. "+
					"Remove it, or use another release.", revision, newest.Number))
			return versions{}, versions{}, diags
		}
	}
	current = next
	if len(prior) == 0 {
		return current, next, nil
	}
	if config.KubetorchVersion.IsNull() && data.Defaults.KubetorchVersion == "" {
		current.kubetorch = cmp.Or(state.KubetorchVersion.ValueString(),
			owned.Label(sorted(prior), kind.VersionLabel), next.kubetorch)
	}
	if revision == 0 { // the state of the first release has no revision
		if applied, ok := revisionNumbered(revisions, max(1, state.RendererRevision.ValueInt64())); ok {
			current.revision = applied
		}
	}
	return current, next, nil
}

func revisionNumbered(revisions []manifest.Revision, number int64) (manifest.Revision, bool) {
	i := slices.IndexFunc(revisions, func(r manifest.Revision) bool { return r.Number == number })
	if i < 0 {
		return manifest.Revision{}, false
	}
	return revisions[i], true
}

// renderVersions renders with the versions of the prior objects, or with the next ones if the pods restart in any case.
func (p *planner) renderVersions(
	ctx context.Context, spec manifest.Compute, prior owned.Objects, options renderOptions,
) owned.Objects {
	current, next, diags := versionsOf(p.Data, p.Config, p.State, prior)
	p.Diags.Append(diags...)
	if diags.HasError() {
		return nil
	}
	options.versions = current
	rendered := p.renderWith(ctx, spec, prior, options)
	differ := current.kubetorch != next.kubetorch || current.revision.Number != next.revision.Number
	if differ && !p.Diags.HasError() && !p.samePods(prior, rendered) {
		options.versions = next
		rendered = p.renderWith(ctx, spec, prior, options)
	}
	p.setUnknownVersions()
	p.Plan.fillVersions(options.versions)
	return rendered
}

// renderWith renders with fixed versions. Objects that the apply would not change are those of the prior ones.
func (p *planner) renderWith(
	ctx context.Context, spec manifest.Compute, prior owned.Objects, options renderOptions,
) owned.Objects {
	rendered, diags := renderSpec(spec, options)
	p.Diags.Append(diags...)
	if p.Diags.HasError() {
		return nil
	}
	rendered = p.preserveReplicas(p.preserveIgnored(ctx, rendered, prior, options), prior)
	rendered = p.preserveAdopted(ctx, rendered, prior, options)
	if p.State.Suspend.ValueBool() && !spec.Suspend {
		return rendered // a resumption also changes the fields that kt_suspend has set, which are not owned
	}
	return p.PreserveObjects(ctx, rendered, prior, p.PrivateState.Imported)
}

// samePods reports whether the workloads are of the same kind and have the same pod template.
func (p *planner) samePods(prior, rendered owned.Objects) bool {
	before, after := workloadIn(prior), workloadIn(rendered)
	if before == nil || after == nil {
		return before == nil && after == nil
	}
	return before.GroupVersionKind() == after.GroupVersionKind() &&
		manifest.SamePods(before, after, decodeFieldPath(p.Plan.PodTemplatePath)...)
}

// hasNoVersion reports whether Kubetorch's server does not run in the pods, and cannot be added to them.
func (m *model) hasNoVersion() bool {
	return manifest.RunsTensorServer(m.Runtime.ValueString()) || m.ManifestOnly.ValueBool()
}

// setUnknownVersions makes the attributes unknown until the plan is rendered, unless they are configured.
func (p *planner) setUnknownVersions() {
	p.Plan.KubetorchVersion, p.Plan.RendererRevision = p.Config.KubetorchVersion, p.Config.RendererRevision
	if p.Plan.hasNoVersion() {
		return
	}
	if p.Plan.KubetorchVersion.IsNull() {
		p.Plan.KubetorchVersion = types.StringUnknown()
	}
	if p.Plan.RendererRevision.IsNull() {
		p.Plan.RendererRevision = types.Int64Unknown()
	}
}

// observeVersions sets null attributes from applied objects, for an import.
func (m *model) observeVersions(applied owned.Objects) {
	if m.hasNoVersion() {
		return
	}
	if version := owned.Label(sorted(applied), kind.VersionLabel); m.KubetorchVersion.IsNull() && version != "" {
		m.KubetorchVersion = types.StringValue(version)
	}
	if m.RendererRevision.IsNull() && !m.KubetorchVersion.IsNull() {
		m.RendererRevision = types.Int64Value(1)
	}
}

// fillVersions sets unknown attributes to the versions that were rendered.
func (m *model) fillVersions(v versions) {
	if m.KubetorchVersion.IsUnknown() {
		m.KubetorchVersion = types.StringValue(v.kubetorch)
	}
	if m.RendererRevision.IsUnknown() {
		m.RendererRevision = types.Int64Value(v.revision.Number)
	}
}
