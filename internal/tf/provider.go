package tf

import (
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

// ProviderData is the data that a configured provider passes to its resources.
type ProviderData struct {
	// Run is the run against the cluster. It is nil while the provider's configuration is Unknown, because it depends
	// on resources of the same run.
	*run.Run

	Unknown  bool
	Defaults Defaults
	// Revisions are the revisions of the renderer, the newest last.
	Revisions []manifest.Revision
	// Images resolves the digests of images. It requests each reference once per run.
	Images *registry.Resolver
	// Configs are the configurations that are validated but not planned yet.
	Configs Configs
	// Holds are the resources that must not be destroyed in this run.
	Holds Holds
}

// Configured reports whether the cluster is known: not in validation, nor while the
// provider's configuration depends on resources of the same run.
func (d *ProviderData) Configured() bool { return d != nil && !d.Unknown }

// Defaults contains the settings of the provider block for all resources.
type Defaults struct {
	// Username is the value of the label kubetorch.com/username.
	Username string
	// UsernameChosen reports whether the provider block sets the username, rather
	// than the environment. A setting of the environment applies only to new objects
	// and never changes existing ones. This also applies to the other Chosen fields.
	UsernameChosen         bool
	InstallNamespace       string
	InstallNamespaceChosen bool
	LaunchTimeout          time.Duration
	LaunchTimeoutChosen    bool
	GPUAntiAffinity        bool
	GPUAntiAffinityChosen  bool
	// GPUTypeLabel is the node label of a gpu_type without one, or "" if the provider block sets none.
	GPUTypeLabel string
	// KubetorchVersion is the release of Kubetorch that pods install, or "" if the provider block sets none.
	KubetorchVersion string
	Labels           map[string]string
	Annotations      map[string]string
	CompactPlans     bool
	// IgnoreGPUs disables the check of the GPUs of the nodes.
	IgnoreGPUs bool
}

// DefaultSettings returns the settings of an empty provider block without an environment.
func DefaultSettings() Defaults {
	return Defaults{InstallNamespace: manifest.DefaultInstallNamespace, LaunchTimeout: manifest.DefaultLaunchTimeout}
}

// DataOf returns the provider's data of a Configure request. It is nil before the
// provider is configured, for example during validation.
func DataOf(raw any, diags *diag.Diagnostics) *ProviderData {
	data, ok := raw.(*ProviderData)
	if !ok && raw != nil {
		diags.AddError("Unexpected provider data", fmt.Sprintf("The provider data has the type %T. This is a bug in "+
			"the provider.\n\nNext step: Report it to the developers of the provider.", raw))
	}
	return data
}
