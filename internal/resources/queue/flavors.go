package queue

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// warnOfFlavors warns about flavors that the queue no longer defines.
func (p *planner) warnOfFlavors(obsolete owned.Objects) {
	for _, obj := range obsolete.Sorted(kueue.Rank) {
		ref := p.Plan.flavorRef(obj.GetName())
		switch {
		case obj.GetKind() != ref.Kind.Kind:
		case stillNamed(p.wanted)(obj):
			p.Diags.AddAttributeWarning(path.Root("flavors"), ref.String()+" is no longer managed",
				"The configuration no longer describes its nodes, but still names it. It is not deleted, and this "+
					"queue no longer changes it.")
		default:
			p.Diags.AddAttributeWarning(path.Root("flavors"), ref.String()+" will be deleted",
				"The configuration no longer contains it. If another ClusterQueue uses it at that time, it stays "+
					"in the cluster and is no longer managed.")
		}
	}
}

// stillNamed returns a function that reports whether an object is a ResourceFlavor that the queue names without
// defining it. It is released instead of deleted, because the queue uses it.
func stillNamed(wanted kueue.Queue) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool {
		return obj.GetKind() == kind.ResourceFlavor(kind.KueueVersion).Kind &&
			namesFlavor(wanted, obj.GetName())
	}
}

func namesFlavor(queue kueue.Queue, name string) bool {
	return slices.ContainsFunc(queue.Flavors, func(f kueue.Flavor) bool { return f.Name == name })
}

// releasesUsed reports whether an object is a flavor that other queues use, and warns about it.
func (w writer) releasesUsed(ctx context.Context, obj *unstructured.Unstructured) bool {
	users := usersOf(ctx, w.Data.Cluster, obj, w.Plan.Name.ValueString())
	w.Diags.Append(notDeleted(obj, users)...)
	return len(users) > 0
}

// usersOf returns the names of the other ClusterQueues that use a flavor. Without permission to list them, there are
// none, and Kueue keeps the flavor until no ClusterQueue uses it.
func usersOf(ctx context.Context, cluster *kube.Cluster, obj *unstructured.Unstructured, queue string) []string {
	if obj.GetKind() != kind.ResourceFlavor(kind.KueueVersion).Kind {
		return nil
	}
	all, err := cluster.ReadAll(ctx, kind.ClusterQueue(kind.KueueVersion), "",
		func(e *kube.Entry) bool { return e.Name != queue })
	if err != nil {
		return nil
	}
	var users []string
	for _, entry := range all {
		other, err := entry.Object()
		if err == nil && namesFlavor(kueue.Observe([]*unstructured.Unstructured{other}), obj.GetName()) {
			users = append(users, entry.Name)
		}
	}
	slices.Sort(users)
	return users
}

// notDeleted warns about a flavor that other queues use. Its deletion would wait for them, and could not be undone.
func notDeleted(flavor *unstructured.Unstructured, users []string) diag.Diagnostics {
	if len(users) == 0 {
		return nil
	}
	ref := kube.Ref{Kind: kind.ResourceFlavor(kind.KueueVersion), Name: flavor.GetName()}
	return diag.Diagnostics{diag.NewWarningDiagnostic(ref.String()+" was not deleted",
		"It is used by ClusterQueue "+strings.Join(users, ", ")+". It stays in the cluster, and is no longer "+
			"managed.\n\nTo manage it in another queue, define it there with adopt_existing = true. If no queue uses "+
			"it, delete it:\n  "+ref.Kubectl("delete"))}
}
