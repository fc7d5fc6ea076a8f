package secret

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
)

// defaultMode returns the permission bits of the mounted files as four octal digits, or "" for the default of
// Kubernetes. The state is empty for a new Secret.
//
// The mode of the credential provider is set when the files are first mounted, when they are mounted at another path,
// and when provider_name changes. Otherwise, a Secret that was created without a mode keeps none, because a mode would
// restart the pods that mount it.
func defaultMode(plan, state *model, mount string) string {
	preset := providerMode(plan.ProviderName.ValueString())
	switch priorMount, priorMode := mountInRef(state); {
	case mount == "":
		return ""
	case !plan.DefaultMode.IsNull():
		return plan.DefaultMode.ValueString()
	case mount != priorMount, priorMode != "",
		!state.ProviderName.IsNull() && !plan.ProviderName.Equal(state.ProviderName):
		return preset
	default:
		return ""
	}
}

// providerMode returns the mode that the tools of a credential provider require, or "".
func providerMode(provider string) string {
	p, _ := spec.ProviderNamed(provider)
	return p.DefaultMode
}

// mountInRef returns mount_path and default_mode of the attribute ref, or "" for null.
func mountInRef(m *model) (mount, mode string) {
	text := func(name string) string {
		value, _ := m.Ref.Attributes()[name].(types.String)
		return value.ValueString()
	}
	return text("mount_path"), text("default_mode")
}

// refuseUnusedMode returns an error if default_mode is set, but the keys become environment variables.
func refuseUnusedMode(m *model, mount string) diag.Diagnostics {
	if mount != "" || m.DefaultMode.IsNull() {
		return nil
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("default_mode"),
		"default_mode without mounted files",
		"default_mode applies to files, but the keys of this secret become environment variables: set mount_path, or "+
			"remove default_mode.")}
}
