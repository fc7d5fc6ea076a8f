package secret

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
)

// defaultMode are the permission bits of the mounted files, "" for Kubernetes' own default. The state is empty for a new
// Secret.
//
// What the provider's tools need is decided where the files are first mounted, or mounted elsewhere, and for another
// provider. Else a Secret that was made without a mode stays so, since the pods that mount it would restart.
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

// presetMode is what the tools of a provider need; "" where any mode will do.
func presetMode(provider string) string {
	p, _ := spec.ProviderNamed(provider)
	return p.DefaultMode
}

// mounted are the folder and the permission bits in the attribute ref.
type mounted struct{ mount, mode string }

func refOf(m *model) mounted {
	text := func(name string) string {
		value, _ := m.Ref.Attributes()[name].(types.String)
		return value.ValueString()
	}
	return mounted{mount: text("mount_path"), mode: text("default_mode")}
}

// refuseUnusedMode refuses a mode for files where the keys become environment variables.
func refuseUnusedMode(m *model, mount string) diag.Diagnostics {
	if mount != "" || m.DefaultMode.IsNull() {
		return nil
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("default_mode"), "No files to set permissions of",
		"default_mode is for files, but the keys of this secret become environment variables: give mount_path, or remove default_mode.")}
}

func textOrNull(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}
