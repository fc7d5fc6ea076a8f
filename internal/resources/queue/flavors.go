package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// refuseSharedFlavors reports flavors that another queue of this run defines, too.
func (p *planner) refuseSharedFlavors(wanted kueue.Queue) {
	for i, flavor := range wanted.Flavors {
		if !flavor.Defined() {
			continue
		}
		ref := flavorRef(flavor.Name)
		other := p.Data.Run.PlanObject(manifest.Key(ref.Kind.Named("", ref.Name)),
			tf.QueueType+" "+p.Plan.ID.ValueString())
		if other != "" {
			p.Diags.AddAttributeError(path.Root("flavors").AtListIndex(i).AtName("name"),
				ref.String()+" is defined by two queues", fmt.Sprintf("%s also defines it, and both would write to it."+
					"\n\nNext step: Define it in one of them. In the other, remove node_labels, node_taints, "+
					"tolerations and topology_name of this flavor.", other))
		}
	}
}

// warnOfFlavors warns about flavors that the queue no longer defines.
func (p *planner) warnOfFlavors(obsolete owned.Objects) {
	for _, obj := range obsolete.Sorted(kueue.Rank) {
		ref := flavorRef(obj.GetName())
		switch {
		case !isFlavor(obj):
		case namesFlavor(p.wanted.Queue, obj.GetName()):
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

func namesFlavor(queue kueue.Queue, name string) bool {
	return slices.ContainsFunc(queue.Flavors, func(f kueue.Flavor) bool { return f.Name == name })
}

func isFlavor(obj *unstructured.Unstructured) bool {
	return obj.GetKind() == kind.ResourceFlavor(kind.KueueVersion).Kind
}

// ownerOf returns the ID of the queue that defines a flavor, which is "" if no queue defines it any more. Other objects
// do not name their queue.
func ownerOf(obj *unstructured.Unstructured) (id string, known bool) {
	return obj.GetAnnotations()[kueue.OwnerAnnotation], isFlavor(obj)
}

// releaser releases the flavors that a queue no longer defines and that are in use. The queue itself uses those that it
// still names without defining them.
type releaser struct {
	cluster *kube.Cluster
	queue   string      // name of the ClusterQueue
	wanted  kueue.Queue // empty for a queue that is deleted
	diags   *diag.Diagnostics
}

// release reports whether an object is a flavor that stays in the cluster. It then removes the annotation with the
// queue that defines it, so that any queue may define it.
func (r releaser) release(ctx context.Context, obj *unstructured.Unstructured) (bool, error) {
	if !isFlavor(obj) {
		return false, nil
	}
	ref := flavorRef(obj.GetName())
	if !namesFlavor(r.wanted, obj.GetName()) {
		use, err := r.use(ctx, obj.GetName())
		if err != nil || use == "" {
			return false, err
		}
		// The deletion of a flavor in use would wait for its users, and could not be undone.
		r.diags.AddWarning(ref.String()+" was not deleted", use+" It stays in the cluster, and is no longer managed."+
			"\n\nTo manage it again, define it in a queue. If no queue uses it, delete it:\n  "+ref.Kubectl("delete"))
	}
	live, err := r.cluster.API.Get(ctx, ref)
	if err == nil && live.GetAnnotations()[kueue.OwnerAnnotation] == obj.GetAnnotations()[kueue.OwnerAnnotation] {
		err = r.cluster.RemoveAnnotation(ctx, ref, live, kueue.OwnerAnnotation)
	}
	if kube.IsNotFound(err) {
		return true, nil
	}
	return err == nil, err
}

// use describes what uses a flavor, apart from this queue, or returns "".
func (r releaser) use(ctx context.Context, flavor string) (string, error) {
	all, err := r.cluster.Store.List(ctx, kind.ClusterQueue(kind.KueueVersion), "",
		func(e *kube.Entry) bool { return e.Name != r.queue })
	if kube.ClassOf(err) == kube.Denied {
		return "Without permission to list ClusterQueues, it is unknown whether another one uses it.", nil
	}
	if err != nil {
		return "", err
	}
	var users []string
	for _, entry := range all {
		other, err := entry.Object()
		if err != nil {
			return "", err
		}
		if other.GetDeletionTimestamp() == nil &&
			namesFlavor(kueue.Observe([]*unstructured.Unstructured{other}), flavor) {
			users = append(users, entry.Name)
		}
	}
	if len(users) == 0 {
		return "", nil
	}
	slices.Sort(users)
	return "It is used by ClusterQueue " + strings.Join(users, ", ") + ".", nil
}
