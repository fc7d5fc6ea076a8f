package compute

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// BenchmarkUnchangedPlan is what the hook Plan does to render a compute without changes.
// It decodes each object of the state once.
func BenchmarkUnchangedPlan(b *testing.B) {
	revisions := manifest.Revisions()
	data := &tf.ProviderData{Unknown: true, Defaults: defaults, Revisions: revisions}
	config := planned(b, func(m *model) {
		m.GPUs, m.GPUType = types.Int64Value(8), types.StringValue("NVIDIA-H100-80GB-HBM3")
		m.EnvVars = texts(b, map[string]string{"MODE": "fast"})
	})
	state := *config
	prior, diags := render(b.Context(), config, renderOptions{
		defaults: defaults, designedFor: 1,
		rendering: rendering{version: manifest.KubetorchVersion, revision: revisions[len(revisions)-1]},
	})
	if diags.HasError() {
		b.Fatal(diags)
	}
	state.Mode, state.Manifests = types.StringValue("deployment"), prior.value()
	state.KubetorchVersion = types.StringValue(manifest.KubetorchVersion)
	state.RendererRevision = types.Int64Value(revisions[len(revisions)-1].Number)
	registers := false
	b.ReportAllocs()
	for b.Loop() {
		plan := state
		p := &planner{planning: &planning{
			Data: data, Plan: &plan, Config: config, State: &state,
			PrivateState: privateState{Designed: 1, Registers: &registers, EmptyText: true, Origin: &origin{}},
		}}
		before, _ := objectsOf(b.Context(), state.Manifests)
		p.prior = before
		p.rendered = p.renderPods(b.Context(), before, renderOptionsOf(b.Context(), data, before, p.PrivateState, 1))
		p.last(b.Context(), before)
		p.observe()
		plan.Manifests = p.rendered.value()
		p.leaveRegistration()
		p.keepWording()
		p.dryRun(b.Context())
		p.computed()
		if p.Diags.HasError() || !plan.Manifests.Equal(state.Manifests) {
			b.Fatal(p.Diags, "the plan has changes")
		}
	}
}
