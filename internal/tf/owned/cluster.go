package owned

import (
	"cmp"
	"context"
	"fmt"
	"strings"

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
	recorded := RecordedCluster{known: known, configured: data.Cluster.Identity(ctx, namespaceOf(id.ValueString()))}
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

// namespaceOf returns the namespace in the ID of a resource.
func namespaceOf(id string) string {
	namespace, _, _ := strings.Cut(id, "/")
	return namespace
}

// Doubtful returns an error if the server has another address than the one where the resource was found, and it is not
// known whether it is the same cluster: without permission to read the UID of kube-system, if the namespace of the
// resource has another UID, or an unknown one. An object that is missing there may still exist.
func (r RecordedCluster) Doubtful() diag.Diagnostics {
	known, configured := r.known, r.configured
	if known.UID != "" && configured.UID != "" || known.Server == "" || known.Server == configured.Server ||
		known.Namespace != "" && known.Namespace == configured.Namespace {
		return nil
	}
	return diag.Diagnostics{diag.NewErrorDiagnostic("The object is missing, possibly in another cluster",
		fmt.Sprintf("The object was found in the cluster at %s, and is missing in the cluster at %s. Without "+
			"permission to get the namespace kube-system or that of the object, it is unknown whether these are the "+
			"same. The state is kept unchanged.\n\nNext step: Correct the kubeconfig, its context, or the provider "+
			"block. If it is the same cluster, grant the permission, or remove the resource from the state:\n"+
			"  terraform state rm ADDRESS",
			known.Server, cmp.Or(configured.Server, "an unknown address")))}
}

// Confirmed reports whether the resource was found in this cluster before.
func (r RecordedCluster) Confirmed() bool {
	return r.known.UID != "" && r.known.UID == r.configured.UID ||
		r.known.Namespace != "" && r.known.Namespace == r.configured.Namespace
}

// Record saves the cluster in which the resource was found, unless it is saved already.
func (r RecordedCluster) Record(ctx context.Context, private PrivateWriter) diag.Diagnostics {
	if r.known.UID != "" || r.configured == r.known || r.configured.Server == "" {
		return nil
	}
	return Save(ctx, private, clusterKey, r.configured)
}

// RecordCreated records that a created resource is in state, and saves its cluster.
func RecordCreated(
	ctx context.Context, data *tf.ProviderData, creation *Creation, private PrivateWriter,
) diag.Diagnostics {
	creation.endClaims(data.Run, true)
	return RecordedCluster{configured: data.Cluster.Identity(ctx, namespaceOf(creation.ID))}.Record(ctx, private)
}

// KindRemoved reports whether err means that ref was deleted with its kind: this is the cluster of the resource, and
// its server no longer serves the kind.
func (r RecordedCluster) KindRemoved(ctx context.Context, cluster *kube.Cluster, ref kube.Ref, err error) bool {
	return kube.ClassOf(err) == kube.KindMissing && r.Confirmed() && cluster.Discovery.KindRemoved(ctx, ref.Kind)
}

// RemovedWarning reports that an object was deleted with its kind.
func RemovedWarning(ref kube.Ref) diag.Diagnostic {
	return diag.NewWarningDiagnostic("An object was deleted with its CustomResourceDefinition",
		fmt.Sprintf("%s no longer exists, because the cluster no longer serves %s of %s. Kubernetes deletes all "+
			"objects of a kind together with its definition.", ref, ref.Kind.Kind, ref.Kind.Group))
}
