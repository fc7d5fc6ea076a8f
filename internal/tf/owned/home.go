package owned

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// homeKey is where the cluster is kept in a resource's private state.
const homeKey = "cluster"

// Home compares the cluster that a resource is in with the one that the provider
// is configured for. Where one of them is not known, nothing is compared.
type Home struct {
	known, configured kube.Identity
}

// HomeOf reads the cluster of a resource from its private state. Another one
// than the configured is an error: there, all its objects would seem deleted.
func HomeOf(ctx context.Context, data *tf.ProviderData, private PrivateReader, resourceType string, id types.String) (Home, diag.Diagnostics) {
	if !data.Configured() {
		return Home{}, nil
	}
	known, diags := Load[kube.Identity](ctx, private, homeKey)
	h := Home{known: known, configured: data.Cluster.Identity(ctx)}
	if known.UID != "" && h.configured.UID != "" && known.UID != h.configured.UID {
		diags.AddError("The provider is configured for another cluster",
			fmt.Sprintf("%s %s is in the cluster at %s (UID of the namespace kube-system: %s). "+
				"The provider is configured for the cluster at %s (UID %s), where it cannot be found. The state is kept as it is.\n\n"+
				"Correct the kubeconfig, its context, or the provider block. If the cluster was rebuilt and the objects are lost, remove the resource from the state:\n"+
				"  terraform state rm ADDRESS",
				resourceType, id.ValueString(), known.Server, known.UID, h.configured.Server, h.configured.UID))
	}
	return h, diags
}

// Confirmed says that this is the cluster that the resource was found in before.
func (h Home) Confirmed() bool { return h.known.UID != "" && h.known.UID == h.configured.UID }

// Learn remembers the cluster in which the resource was found, unless it is
// remembered already.
func (h Home) Learn(ctx context.Context, private PrivateWriter) diag.Diagnostics {
	if h.known.UID != "" || h.configured.UID == "" {
		return nil
	}
	return Save(ctx, private, homeKey, h.configured)
}

// Settle notes that a created resource goes into state, and remembers its cluster.
func Settle(ctx context.Context, data *tf.ProviderData, creation *Creation, private PrivateWriter) diag.Diagnostics {
	creation.endClaims(data.Cluster, true)
	return Home{configured: data.Cluster.Identity(ctx)}.Learn(ctx, private)
}

// Removed says whether err means that ref is gone with its kind: this is the
// resource's cluster, and its server serves the kind no longer.
func (h Home) Removed(ctx context.Context, cluster *kube.Cluster, ref kube.Ref, err error) bool {
	return kube.ClassOf(err) == kube.KindMissing && h.Confirmed() && cluster.KindRemoved(ctx, ref.Kind)
}

// RemovedWarning says that an object is gone with its kind.
func RemovedWarning(ref kube.Ref) diag.Diagnostic {
	return diag.NewWarningDiagnostic("An object was deleted with its CustomResourceDefinition",
		fmt.Sprintf("%s is gone: the cluster serves no %s of %s any longer. Kubernetes deletes all objects of a kind with its definition.",
			ref, ref.Kind.Kind, ref.Kind.Group))
}
