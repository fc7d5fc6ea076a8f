package owned

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// clusterKey is the key of the cluster in a resource's private state.
const clusterKey = "cluster"

// RecordedCluster compares the cluster that a resource is in with the one that the provider is configured for. It
// compares nothing if one of them is unknown.
type RecordedCluster struct {
	known, configured kube.Identity
}

// ClusterOf reads the cluster of a resource from its private state. If it is not the configured one, ClusterOf
// returns an error, because a refresh there would find none of the objects of the resource.
func ClusterOf(
	ctx context.Context, data *tf.ProviderData, private PrivateReader, resourceType string, id types.String,
) (RecordedCluster, diag.Diagnostics) {
	if !data.Configured() {
		return RecordedCluster{}, nil
	}
	known, diags := Load[kube.Identity](ctx, private, clusterKey)
	recorded := RecordedCluster{known: known, configured: data.Cluster.Identity(ctx)}
	if known.UID != "" && recorded.configured.UID != "" && known.UID != recorded.configured.UID {
		diags.AddError("The provider is configured for another cluster",
			fmt.Sprintf("%s %s is in the cluster at %s (UID of the namespace kube-system: %s). "+
				"The provider is configured for the cluster at %s (UID %s), where it cannot be found. "+
				"The state is kept unchanged.\n\n"+
				"Next step: Correct the kubeconfig, its context, or the provider block. If the cluster was rebuilt "+
				"and the objects are lost, remove the resource from the state:\n"+
				"  terraform state rm ADDRESS",
				resourceType, id.ValueString(), known.Server, known.UID, recorded.configured.Server,
				recorded.configured.UID))
	}
	return recorded, diags
}

// Confirmed reports whether the resource was found in this cluster before.
func (r RecordedCluster) Confirmed() bool {
	return r.known.UID != "" && r.known.UID == r.configured.UID
}

// Record saves the cluster in which the resource was found, unless it is saved already.
func (r RecordedCluster) Record(ctx context.Context, private PrivateWriter) diag.Diagnostics {
	if r.known.UID != "" || r.configured.UID == "" {
		return nil
	}
	return Save(ctx, private, clusterKey, r.configured)
}

// RecordCreated records that a created resource is in state, and saves its cluster.
func RecordCreated(
	ctx context.Context, data *tf.ProviderData, creation *Creation, private PrivateWriter,
) diag.Diagnostics {
	creation.endClaims(data.Cluster, true)
	return RecordedCluster{configured: data.Cluster.Identity(ctx)}.Record(ctx, private)
}

// KindRemoved reports whether err means that ref was deleted with its kind: this is the cluster of the resource, and
// its server no longer serves the kind.
func (r RecordedCluster) KindRemoved(ctx context.Context, cluster *kube.Cluster, ref kube.Ref, err error) bool {
	return kube.ClassOf(err) == kube.KindMissing && r.Confirmed() && cluster.KindRemoved(ctx, ref.Kind)
}

// RemovedWarning reports that an object was deleted with its kind.
func RemovedWarning(ref kube.Ref) diag.Diagnostic {
	return diag.NewWarningDiagnostic("An object was deleted with its CustomResourceDefinition",
		fmt.Sprintf("%s no longer exists, because the cluster no longer serves %s of %s. Kubernetes deletes all "+
			"objects of a kind together with its definition.", ref, ref.Kind.Kind, ref.Kind.Group))
}
