package image

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// spec returns the spec of a configuration. It must not be called on a plan, in
// which optional computed attributes do not show the configured value.
func (m *model) spec(ctx context.Context) (s image.Spec, diags diag.Diagnostics) {
	c := tf.NewConverter(ctx)
	c.DecodeModel(m, &s)
	for i, element := range m.Steps.Elements() { // which may have been unknown when the schema was checked
		if step, ok := element.(types.Object); ok && hasNull(step) {
			c.Diags.AddAttributeError(path.Root("steps").AtListIndex(i), "Null value",
				"A package or a variable of the step is null: set a value, or remove it.")
		}
	}
	return s, c.Diags
}

// reference returns the configured image of a spec, before pinning.
func reference(s image.Spec, d image.Dockerfile) (string, error) {
	switch {
	case s.ImageID != "":
		return s.ImageID, nil
	case s.Base != "":
		return image.BaseImage(s.Base)
	default:
		return d.From, nil
	}
}

// setRef sets the attribute ref. digest is the digest of the setup.
func (m *model) setRef(digest types.String) {
	name := types.StringUnknown()
	if !m.Name.IsUnknown() {
		name = types.StringValue(image.ConfigMapName(m.Name.ValueString()))
	}
	setup := types.ObjectValueMust(setupTypes(), map[string]attr.Value{
		"config_map": name, "digest": digest, "python_path": m.PythonPath, "install_cmd": m.InstallCmd,
	})
	m.Ref = types.ObjectValueMust(refTypes(), map[string]attr.Value{"image": m.Image, "setup": setup})
}

// setupDigest returns the digest of the setup in the attribute ref. It is null if ref is null or unknown.
func setupDigest(ref types.Object) types.String {
	setup, _ := ref.Attributes()["setup"].(types.Object)
	digest, _ := setup.Attributes()["digest"].(types.String)
	return digest
}
