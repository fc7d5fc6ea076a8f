package compute

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

var _ lifecycle.ConfigGenerator[model] = hooks{}

// Generate removes the versions, which are those of the objects without an attribute, one of image and image_ref, which
// exclude each other, and what [planner.defaults] sets.
func (hooks) Generate(_ context.Context, m *model) {
	m.KubetorchVersion, m.RendererRevision = types.StringNull(), types.Int64Null()
	if !m.ImageRef.IsNull() {
		m.Image = types.StringNull()
	}
	mode := m.Mode.ValueString()
	if !m.Manifest.IsNull() {
		m.Replicas, m.Image, m.ServiceAccountName = types.Int64Null(), types.StringNull(), types.StringNull()
		return
	}
	if mode != kind.ModeSelector && mode != kind.ModeCompute {
		lifecycle.Omit(&m.Image, manifest.DefaultImage)
		lifecycle.Omit(&m.ServiceAccountName, manifest.DefaultServiceAccount)
	}
	if m.Replicas.Equal(m.defaultReplicas(mode)) {
		m.Replicas = types.Int64Null()
	}
}
