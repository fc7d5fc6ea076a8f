package image

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

func TestGeneratedConfigurationSpecifiesTheImageOnce(t *testing.T) {
	t.Parallel()
	text, null := types.StringValue, types.StringNull()
	stepTypes := types.ObjectType{AttrTypes: map[string]attr.Type{}}
	steps := types.ListValueMust(stepTypes, []attr.Value{types.ObjectValueMust(stepTypes.AttrTypes, nil)})
	const from, run = "FROM a:1\n", "RUN echo\n"
	for name, config := range map[string]struct {
		model
		rendered, resolved string
	}{
		"image_id":                {model{ImageID: text("a:1")}, from, "a:1"},
		"pinned image_id":         {model{ImageID: text("a:1")}, "FROM a@sha256:1\n", "a@sha256:1"},
		"image_id, steps":         {model{ImageID: text("a:1"), Steps: steps}, from + run, "a:1"},
		"base":                    {model{Base: text("pytorch")}, from, "a:1"},
		"base, steps":             {model{Base: text("pytorch"), Steps: steps}, from + run, "a:1"},
		"base and dockerfile":     {model{Base: text("pytorch"), Dockerfile: text(run)}, from + run, "a:1"},
		"image_id and dockerfile": {model{ImageID: text("a:1"), Dockerfile: text(run)}, from + run, "a:1"},
		"dockerfile":              {model{Dockerfile: text(from + run)}, from + run, "a:1"},
		"pinned dockerfile":       {model{Dockerfile: text(from)}, "FROM a@sha256:1\n", "a@sha256:1"},
		"dockerfile, steps":       {model{Dockerfile: text(from), Steps: steps}, from + run, "a:1"},
		"of another client":       {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := config.model
			for _, attribute := range []*types.String{&want.ImageID, &want.Base, &want.Dockerfile} {
				if attribute.ValueString() == "" {
					*attribute = null
				}
			}
			m := want
			m.Common = lifecycle.Common{Name: text("torch")}
			if config.rendered != "" {
				m.setComputed(&want, registry.Pin{Image: config.resolved}, image.Rendered{Dockerfile: config.rendered})
			}
			hooks{}.Generate(t.Context(), &m)
			if !m.ImageID.Equal(want.ImageID) || !m.Base.Equal(want.Base) || !m.Dockerfile.Equal(want.Dockerfile) {
				t.Errorf("image_id %s, base %s and dockerfile %s, want %s, %s and %s", m.ImageID, m.Base, m.Dockerfile,
					want.ImageID, want.Base, want.Dockerfile)
			}
		})
	}
}

// It is the same setup.
func TestDockerfileThatOnlyNamesTheImageIsGeneratedAsImageID(t *testing.T) {
	t.Parallel()
	from := types.StringValue("FROM a:1\n")
	m := &model{}
	m.setComputed(&model{Dockerfile: from}, registry.Pin{Image: "a:1"}, image.Rendered{Dockerfile: from.ValueString()})
	hooks{}.Generate(t.Context(), m)
	if m.ImageID.ValueString() != "a:1" || !m.Dockerfile.IsNull() {
		t.Errorf("image_id %s and dockerfile %s", m.ImageID, m.Dockerfile)
	}
}
