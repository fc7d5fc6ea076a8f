package secret

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
)

// defaultMode returns the permission bits of the mounted files, or "" for the default of Kubernetes. The state is
// empty for a new Secret.
//
// The mode for the provider's tools is set when the files are first mounted, when they are mounted at another path,
// and for another provider. Otherwise, a Secret that was created without a mode keeps none, because a mode would
// restart the pods that mount it.
func defaultMode(plan, state *model, mount string) string {
	preset := presetMode(plan.ProviderName.ValueString())
	switch was := refOf(state); {
	case mount == "":
		return ""
	case !plan.DefaultMode.IsNull():
		return plan.DefaultMode.ValueString()
	case mount != was.mount, was.mode != "":
		return preset
	case !state.ProviderName.IsNull() && !plan.ProviderName.Equal(state.ProviderName):
		return preset
	default:
		return ""
	}
}

// presetMode returns the mode that the tools of a provider require, or "".
func presetMode(provider string) string {
	p, _ := spec.ProviderNamed(provider)
	return p.DefaultMode
}

// mounted is the directory and the permission bits in the attribute ref.
type mounted struct{ mount, mode string }

func refOf(m *model) mounted {
	text := func(name string) string {
		value, _ := m.Ref.Attributes()[name].(types.String)
		return value.ValueString()
	}
	return mounted{mount: text("mount_path"), mode: text("default_mode")}
}

// refuseUnusedMode rejects a mode for files if the keys become environment variables.
func refuseUnusedMode(m *model, mount string) diag.Diagnostics {
	if mount != "" || m.DefaultMode.IsNull() {
		return nil
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("default_mode"),
		"default_mode without mounted files",
		"default_mode applies to files, but the keys of this secret become environment variables: set mount_path, or "+
			"remove default_mode.")}
}
