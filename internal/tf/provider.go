package tf

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// ProviderData is what a configured provider hands to its resources.
type ProviderData struct {
	// Unknown says that the provider's configuration is not known yet, since it
	// depends on resources of the same run. Cluster is nil then.
	Unknown  bool
	Cluster  *kube.Cluster
	Defaults Defaults
	// Revisions are those that the renderer knows, the newest last.
	Revisions []manifest.Revision
	// Configs are the configurations that were validated and not yet planned.
	Configs Configs
}

// Defaults is what the provider block says for every resource.
type Defaults struct {
	// Username is the value of the label kubetorch.com/username.
	Username string
	// UsernameChosen says that the provider block names it. What the environment
	// says counts for what is created, and never changes what exists. So do the
	// other fields of this kind.
	UsernameChosen         bool
	InstallNamespace       string
	InstallNamespaceChosen bool
	LaunchTimeout          time.Duration
	LaunchTimeoutChosen    bool
	GPUAntiAffinity        bool
	GPUAntiAffinityChosen  bool
	// KubetorchVersion is the release of Kubetorch that pods install; "" where the
	// provider block names none.
	KubetorchVersion string
	Labels           map[string]string
	Annotations      map[string]string
	CompactPlans     bool
	// IgnoreGPUs leaves out the look at what GPUs the nodes have.
	IgnoreGPUs bool
}

// DataOf takes the provider's data out of a Configure request; nil before the
// provider is configured, as in validation.
func DataOf(raw any) (*ProviderData, diag.Diagnostics) {
	if raw == nil {
		return nil, nil
	}
	data, ok := raw.(*ProviderData)
	if !ok {
		return nil, diag.Diagnostics{diag.NewErrorDiagnostic("Unexpected provider data", fmt.Sprintf("%T is a bug in the provider; please report it.", raw))}
	}
	return data, nil
}

// Object decodes a known object into a struct.
func Object(ctx context.Context, object types.Object, into any) diag.Diagnostics {
	return object.As(ctx, into, basetypes.ObjectAsOptions{UnhandledNullAsEmpty: true})
}
