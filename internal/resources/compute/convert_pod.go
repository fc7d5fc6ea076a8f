package compute

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func (c *converter) decodeToleration(t tolerationModel) manifest.Toleration {
	return manifest.Toleration{
		Key: t.Key.ValueString(), Operator: t.Operator.ValueString(), Value: t.Value.ValueString(),
		Effect: t.Effect.ValueString(), TolerationSeconds: t.TolerationSeconds.ValueInt64Pointer(),
	}
}

func (c *converter) encodeToleration(t manifest.Toleration) tolerationModel {
	return tolerationModel{
		Key: textOrNull(t.Key), Operator: textOrNull(t.Operator), Value: textOrNull(t.Value),
		Effect: textOrNull(t.Effect), TolerationSeconds: types.Int64PointerValue(t.TolerationSeconds),
	}
}

func (c *converter) decodeSecret(s secretModel) manifest.SecretRef {
	return manifest.SecretRef{
		Name: s.Name.ValueString(), EnvVars: c.decodeTexts(s.EnvVars),
		MountPath: s.MountPath.ValueString(), DefaultMode: decodeFileMode(s.DefaultMode),
	}
}

func (c *converter) encodeSecret(s manifest.SecretRef) secretModel {
	mode := types.StringNull()
	if s.DefaultMode != nil {
		mode = types.StringValue(manifest.FileModeText(*s.DefaultMode))
	}
	return secretModel{
		Name: types.StringValue(s.Name), MountPath: textOrNull(s.MountPath), DefaultMode: mode,
		EnvVars: encodeList(c, types.StringType, s.EnvVars, unconverted),
	}
}

func (c *converter) decodeVolume(v volumeModel) manifest.VolumeRef {
	return manifest.VolumeRef{
		ClaimName: v.ClaimName.ValueString(), MountPath: v.MountPath.ValueString(), ReadOnly: v.ReadOnly.ValueBool(),
	}
}

func (c *converter) encodeVolume(v manifest.VolumeRef) volumeModel {
	readOnly := types.BoolNull()
	if v.ReadOnly {
		readOnly = types.BoolValue(true)
	}
	return volumeModel{ClaimName: types.StringValue(v.ClaimName), MountPath: types.StringValue(v.MountPath),
		ReadOnly: readOnly}
}

func (c *converter) decodeClaimTemplate(t claimTemplateModel) manifest.VolumeClaimTemplate {
	return manifest.VolumeClaimTemplate{
		Name: t.Name.ValueString(), Size: c.decodeQuantity("volume_claim_templates", t.Size),
		MountPath:    t.MountPath.ValueString(),
		StorageClass: t.StorageClass.ValueString(), AccessMode: t.AccessMode.ValueString(),
	}
}

func (c *converter) encodeClaimTemplate(t manifest.VolumeClaimTemplate) claimTemplateModel {
	return claimTemplateModel{
		Name: types.StringValue(t.Name), Size: encodeQuantity(t.Size), MountPath: textOrNull(t.MountPath),
		StorageClass: textOrNull(t.StorageClass), AccessMode: textOrNull(t.AccessMode),
	}
}

func (c *converter) decodeEndpoint(object types.Object) *manifest.Endpoint {
	if object.IsNull() {
		return nil
	}
	m := decodeObject[endpointModel](c, object)
	return &manifest.Endpoint{URL: m.URL.ValueString(), Selector: c.decodeMap(m.Selector)}
}
