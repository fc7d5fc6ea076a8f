package compute

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// spec converts a model without unknown values into the input of the renderer.
func (m *model) spec(c *converter, defaults tf.Defaults) (manifest.Compute, diag.Diagnostics) {
	out := manifest.Compute{
		Name: m.Name.ValueString(), Namespace: m.Namespace.ValueString(), Runtime: m.Runtime.ValueString(),
		Username: defaults.Username, InstallNamespace: defaults.InstallNamespace,
		DefaultLabels: defaults.Labels, DefaultAnnotations: defaults.Annotations,
		LaunchTimeout: defaults.LaunchTimeout, GPUAntiAffinity: defaults.GPUAntiAffinity,
		GPUProductLabel: defaults.GPUTypeLabel,
	}
	for _, r := range rows {
		r.decode(c, m, &out)
		if r.isSet(m) {
			out.Settings = append(out.Settings, manifest.Setting{Attribute: r.name, Runners: r.runners})
		}
	}
	return out, c.Diags
}

// renderErrors returns each error of the renderer as a diagnostic of its attribute.
func renderErrors(err error) diag.Diagnostics {
	return tf.AttributeErrors("The objects of this compute cannot be rendered", err)
}
