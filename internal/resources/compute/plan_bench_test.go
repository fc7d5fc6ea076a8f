package compute

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// BenchmarkUnchangedPlan measures the part of the hook Plan that renders a compute without changes. It decodes each
// object of the state once.
func BenchmarkUnchangedPlan(b *testing.B) {
	revisions := manifest.Revisions()
	data := &tf.ProviderData{Unknown: true, Defaults: defaults, Revisions: revisions}
	config := planned(b, func(m *model) {
		m.GPUs, m.GPUType = types.Int64Value(8), types.StringValue("NVIDIA-H100-80GB-HBM3")
		m.EnvVars = texts(b, map[string]string{"MODE": "fast"})
	})
	state := *config
	prior, diags := render(b.Context(), config, renderOptions{
		defaults: defaults,
		versions: versions{kubetorch: manifest.KubetorchVersion, revision: revisions[len(revisions)-1]},
	})
	if diags.HasError() {
		b.Fatal(diags)
	}
	state.Mode, state.Manifests = types.StringValue("deployment"), state.manifestsOf(prior, &model{}, nil)
	state.KubetorchVersion = types.StringValue(manifest.KubetorchVersion)
	state.RendererRevision = types.Int64Value(revisions[len(revisions)-1].Number)
	installed := false
	b.ReportAllocs()
	for b.Loop() {
		plan := state
		p := &planner{converter: newConverter(b.Context()), planning: &planning{
			Data: data, Plan: &plan, Config: config, State: &state,
			PrivateState: privateState{
				CRDInstalled: &installed, Origin: &creationDefaults{},
			},
		}}
		p.prior, _ = state.objects()
		options := renderOptionsOf(b.Context(), data, p.State, p.prior, p.PrivateState)
		spec, _ := plan.asConfigured(config).spec(p.converter, options.defaults)
		p.rendered = p.renderVersions(b.Context(), spec, p.prior, options)
		p.replaceIfImmutable(b.Context())
		p.fillFromWorkload()
		plan.Manifests = plan.manifestsOf(p.rendered, &state, p.prior)
		p.planRegistration()
		p.preserveImportedText()
		(&preview{p}).run(b.Context())
		p.status()
		if p.Diags.HasError() || !plan.Manifests.Equal(state.Manifests) {
			b.Fatal(p.Diags, "the plan has changes")
		}
	}
}
