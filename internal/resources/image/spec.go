package image

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// isSpecKnown reports whether all attributes of the spec are known.
func (m *model) isSpecKnown(ctx context.Context) bool {
	return isFullyKnown(ctx, m.ImageID, m.Base, m.PythonPath, m.InstallCmd, m.Dockerfile, m.Steps, m.PinDigest)
}

// spec returns the spec of a configuration. It must not be called on a plan, in
// which optional computed attributes do not show the configured value.
func (m *model) spec(ctx context.Context) (image.Spec, diag.Diagnostics) {
	s := image.Spec{
		ImageID: m.ImageID.ValueString(), Base: m.Base.ValueString(),
		PythonPath: m.PythonPath.ValueString(), InstallCmd: m.InstallCmd.ValueString(),
		Dockerfile: m.Dockerfile.ValueString(), PinDigest: m.PinDigest.ValueBool(),
	}
	var diags diag.Diagnostics
	for _, item := range tf.Items[stepModel](ctx, m.Steps) {
		step, stepDiags := item.step(ctx)
		diags.Append(stepDiags...)
		s.Steps = append(s.Steps, step)
	}
	return s, diags
}

func (s stepModel) step(ctx context.Context) (image.Step, diag.Diagnostics) {
	step := image.Step{RunBash: s.RunBash.ValueString(), SyncPackage: s.SyncPackage.ValueString()}
	var diags diag.Diagnostics
	if !s.PipInstall.IsNull() {
		diags.Append(s.PipInstall.ElementsAs(ctx, &step.PipInstall, false)...)
	}
	if !s.SetEnvVars.IsNull() {
		diags.Append(s.SetEnvVars.ElementsAs(ctx, &step.SetEnvVars, false)...)
	}
	if !s.Copy.IsNull() {
		var c copyModel
		diags.Append(tf.Object(ctx, s.Copy, &c)...)
		step.Copy = &image.Copy{Source: c.Source.ValueString(), Dest: c.Dest.ValueString()}
	}
	return step, diags
}

// stepOf is the inverse of [stepModel.step].
func stepOf(ctx context.Context, s image.Step) (stepModel, diag.Diagnostics) {
	m := stepModel{
		PipInstall: types.ListNull(types.StringType), SetEnvVars: types.MapNull(types.StringType),
		Copy:    types.ObjectNull(copyTypes()),
		RunBash: tf.TextOrNull(s.RunBash), SyncPackage: tf.TextOrNull(s.SyncPackage),
	}
	var diags, fieldDiags diag.Diagnostics
	if len(s.PipInstall) > 0 {
		m.PipInstall, fieldDiags = types.ListValueFrom(ctx, types.StringType, s.PipInstall)
		diags.Append(fieldDiags...)
	}
	if len(s.SetEnvVars) > 0 {
		m.SetEnvVars, fieldDiags = types.MapValueFrom(ctx, types.StringType, s.SetEnvVars)
		diags.Append(fieldDiags...)
	}
	if s.Copy != nil {
		m.Copy = types.ObjectValueMust(copyTypes(), map[string]attr.Value{
			"source": types.StringValue(s.Copy.Source), "dest": types.StringValue(s.Copy.Dest),
		})
	}
	return m, diags
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

// manifests returns the value of the attribute manifests for the summary of an object.
func manifests(key, text string) types.Map {
	return types.MapValueMust(types.StringType, map[string]attr.Value{key: types.StringValue(text)})
}

// applied returns the key and the summary in the attribute manifests, or "" if the attribute is empty.
func (m *model) applied() (key, text string) {
	for key, value := range m.Manifests.Elements() {
		if s, ok := value.(types.String); ok {
			return key, s.ValueString()
		}
	}
	return "", ""
}
