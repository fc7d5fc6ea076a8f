package compute

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func (c *converter) decodeToleration(t tf.Toleration) manifest.Toleration { return t.Decode() }

func (c *converter) encodeToleration(t manifest.Toleration) tf.Toleration { return tf.TolerationOf(t) }

func (c *converter) decodeTopologySpread(s topologySpreadModel) manifest.TopologySpread {
	return manifest.TopologySpread{
		TopologyKey:       s.TopologyKey.ValueString(),
		MaxSkew:           int32(min(max(s.MaxSkew.ValueInt64(), 1), math.MaxInt32)),
		WhenUnsatisfiable: cmp.Or(s.WhenUnsatisfiable.ValueString(), string(corev1.DoNotSchedule)),
	}
}

// encodeTopologySpread omits the defaults of the attributes.
func (c *converter) encodeTopologySpread(s manifest.TopologySpread) topologySpreadModel {
	m := topologySpreadModel{TopologyKey: types.StringValue(s.TopologyKey)}
	if s.MaxSkew != 1 {
		m.MaxSkew = types.Int64Value(int64(s.MaxSkew))
	}
	if s.WhenUnsatisfiable != string(corev1.DoNotSchedule) {
		m.WhenUnsatisfiable = types.StringValue(s.WhenUnsatisfiable)
	}
	return m
}

func (c *converter) decodeAffinity(m *model, out *manifest.Compute) {
	if m.Affinity.IsNull() {
		return
	}
	var err error
	if out.Affinity, err = manifest.ParseAffinity(m.Affinity.ValueString()); err != nil {
		c.invalid("affinity", fmt.Errorf("affinity %w", err))
	}
}

func (c *converter) followAffinity(m *model, before, after *manifest.Compute) {
	tf.SetChanged(&m.Affinity, before.Affinity, after.Affinity, func(affinity *corev1.Affinity) jsontypes.Normalized {
		if affinity == nil {
			return jsontypes.NewNormalizedNull()
		}
		text, err := json.Marshal(affinity)
		c.invalid("affinity", err)
		return jsontypes.NewNormalizedValue(string(text))
	})
}

func (c *converter) decodeSecret(s secretModel) manifest.SecretRef {
	return manifest.SecretRef{
		Name: s.Name.ValueString(), EnvVars: c.decodeTexts(s.EnvVars), EnvKeys: c.decodeMap(s.EnvKeys),
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
		EnvVars: encodeList(c, types.StringType, s.EnvVars, unconverted), EnvKeys: c.encodeMap(s.EnvKeys),
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

func (c *converter) decodeDisruptionBudget(object types.Object) *manifest.DisruptionBudget {
	if object.IsNull() {
		return nil
	}
	m := decodeObject[disruptionBudgetModel](c, object)
	return &manifest.DisruptionBudget{
		MinAvailable: m.MinAvailable.ValueString(), MaxUnavailable: m.MaxUnavailable.ValueString(),
	}
}

func (c *converter) decodeEndpoint(object types.Object) *manifest.Endpoint {
	if object.IsNull() {
		return nil
	}
	m := decodeObject[endpointModel](c, object)
	return &manifest.Endpoint{URL: m.URL.ValueString(), Selector: c.decodeMap(m.Selector)}
}
