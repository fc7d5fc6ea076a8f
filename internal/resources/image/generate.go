package image

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

var _ lifecycle.ConfigGenerator[model] = hooks{}

// Generate removes the values of image_id and dockerfile that [model.setImage] has set: exactly one attribute may
// specify the image. A configured Dockerfile has no steps, and a rendered one has them. A Dockerfile that consists of
// the image is the same as image_id.
func (hooks) Generate(_ context.Context, m *model) {
	rendersImageOnly := m.RenderedDockerfile.ValueString() == "FROM "+m.Image.ValueString()+"\n"
	if m.Dockerfile.Equal(m.RenderedDockerfile) && (len(m.Steps.Elements()) > 0 || rendersImageOnly) {
		m.Dockerfile = types.StringNull()
	}
	parsed, err := image.Parse(m.Dockerfile.ValueString())
	if err == nil && (parsed.From != "" || !m.Base.IsNull()) {
		m.ImageID = types.StringNull()
	}
}
