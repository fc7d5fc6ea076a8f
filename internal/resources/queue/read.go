package queue

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kai"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// reader refreshes or imports one state.
type reader struct{ *reading }

// Refresh compares every applied object with the cluster.
func (hooks) Refresh(ctx context.Context, reading *reading) error {
	r := reader{reading}
	applied, err := owned.ObjectsOf(r.State.Manifests)
	if err != nil {
		return err
	}
	current := owned.Objects{}
	var before, after []*unstructured.Unstructured
	r.State.setStatus(nil)
	for _, obj := range applied.Sorted(kueue.Rank) {
		refreshed, err := r.refreshObject(ctx, obj, applied, current)
		switch {
		case errors.Is(err, owned.ErrGone):
			continue // the plan creates it again
		case err != nil:
			return err
		}
		before, after = append(before, obj), append(after, refreshed)
	}
	if len(current) == 0 {
		return owned.ErrGone
	}
	r.State.Manifests = current.Value()
	r.PrivateState.Waiting = r.PrivateState.Waiting && !r.State.Active.ValueBool()
	r.Diags.Append(r.State.follow(ctx, observed(before), observed(after))...)
	return nil
}

// refreshObject adds an object to the current ones if it exists, and returns its current fields.
func (r reader) refreshObject(
	ctx context.Context, obj *unstructured.Unstructured, applied, current owned.Objects,
) (*unstructured.Unstructured, error) {
	key := manifest.Key(obj)
	ref, live, err := r.FindObject(ctx, obj)
	if err != nil {
		return nil, err
	}
	if hasQuotas(obj) {
		r.State.setStatus(live)
	}
	if err := r.checkTerminating(ref, live); err != nil {
		return nil, err
	}
	refreshed, err := r.Memory.Refresh(key, obj, live)
	if err != nil {
		return nil, err
	}
	r.Diags.Append(owned.DriftWarning(ref, refreshed)...)
	r.PrivateState.Waiting = r.PrivateState.Waiting || refreshed.Unrecorded && hasQuotas(obj) // it did not wait
	current[key] = applied[key]
	if refreshed.Differs {
		current[key], err = owned.ObjectOf(refreshed.Object)
	}
	return refreshed.Object, err
}

// checkTerminating reports that an object is being deleted. It returns ErrGone for a LocalQueue, which the next apply
// creates again when it is gone. A queue whose quotas are being deleted is replaced.
func (r reader) checkTerminating(ref kube.Ref, live *unstructured.Unstructured) error {
	switch {
	case live.GetDeletionTimestamp() == nil:
		return nil
	case isFlavor(live): // replacing the queue would not end the deletion while other queues use the flavor
		r.Diags.AddWarning(ref.String()+" is being deleted", "Kueue keeps it until no ClusterQueue uses it, and its "+
			"deletion cannot be undone. Until then, the queue works as before.\n\nNext step: To create it again, "+
			"replace all queues that use it. For this one:\n  terraform apply -replace=ADDRESS")
		return nil
	}
	replaced := hasQuotas(live)
	r.Diags.Append(owned.TerminatingWarning(ref, live, replaced && r.State.DeletionProtection.ValueBool()))
	if !replaced {
		return owned.ErrGone
	}
	r.Terminating = true
	return nil
}

// Import reads the objects of a queue into a new state. Objects of this provider are complete. The fields of others
// become owned with the next apply, which the plan shows.
func (hooks) Import(ctx context.Context, reading *reading) error {
	r := reader{reading}
	queue, err := r.find(ctx)
	if err != nil {
		return err
	}
	found := owned.Objects{}
	complete, ours, err := found.Import(r.Memory, queue)
	if err != nil {
		return err
	}
	seen := []*unstructured.Unstructured{queue}
	if ours {
		seen = []*unstructured.Unstructured{complete}
	}
	if !isKAIQueue(queue) {
		related, err := r.importRelated(ctx, queue, found)
		if err != nil {
			return err
		}
		seen = append(seen, related...)
	}
	r.State.adopt(ctx, observed(seen), r.reading, ours)
	r.State.setStatus(queue)
	r.State.Manifests = found.Value()
	r.PrivateState.Imported = slices.Sorted(maps.Keys(found))
	return nil
}

// find returns the queue to import: the ClusterQueue with the name, or else the Queue of KAI.
func (r reader) find(ctx context.Context) (*unstructured.Unstructured, error) {
	if r.Listing != nil {
		return r.Live, nil
	}
	for _, ref := range []kube.Ref{r.State.ref(), kaiQueueRef(r.State.Name.ValueString())} {
		found, err := r.Data.Cluster.API.Get(ctx, ref)
		if err == nil {
			return found, nil
		}
		if !kube.IsNotFound(err) && kube.ClassOf(err) != kube.KindMissing {
			return nil, err
		}
	}
	return nil, r.NothingToImport(r.State.ref().String() + " does not exist, nor does a Queue of KAI with this " +
		"name.\n\nInvestigate with:\n  kubectl get " + r.State.ref().Kind.Argument())
}

// importRelated imports the LocalQueues of the ClusterQueue with its name, in the namespaces that it selects, and the
// ResourceFlavors that this queue has defined.
func (r reader) importRelated(
	ctx context.Context, queue *unstructured.Unstructured, found owned.Objects,
) ([]*unstructured.Unstructured, error) {
	var related []*unstructured.Unstructured
	read := func(ref kube.Ref, accept func(*unstructured.Unstructured) bool) error {
		live, err := r.Get(ctx, ref)
		if kube.IsNotFound(err) || err == nil && !accept(live) {
			return nil
		}
		if err != nil {
			return err
		}
		obj, _, err := found.Import(r.Memory, live)
		related = append(related, obj)
		return err
	}
	for _, flavor := range kueue.Observe([]*unstructured.Unstructured{queue}).Flavors {
		ref := flavorRef(flavor.Name)
		err := read(ref, func(obj *unstructured.Unstructured) bool {
			return obj.GetAnnotations()[kueue.OwnerAnnotation] == r.State.ID.ValueString()
		})
		if err != nil {
			return nil, err
		}
	}
	name, namespaces := r.State.Name.ValueString(), []string{r.State.Namespace.ValueString()}
	namespaces = append(namespaces, kueue.SelectedNamespaces(queue)...)
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		ref := kube.Ref{Kind: kind.LocalQueue(kind.KueueVersion), Namespace: namespace, Name: name}
		err := read(ref, func(obj *unstructured.Unstructured) bool {
			return kind.TextAt(obj.Object, "spec", "clusterQueue") == name
		})
		if err != nil {
			return nil, err
		}
	}
	return related, nil
}

// adopt sets the attributes of an imported queue. Labels and annotations of other owners stay theirs.
func (m *model) adopt(ctx context.Context, seen spec, r *reading, ours bool) {
	m.AdoptExisting, m.DeletionProtection = types.BoolValue(false), types.BoolValue(false)
	defaults := r.Data.Defaults
	seen.Labels, seen.Annotations = manifest.Without(seen.Labels, defaults.Labels),
		manifest.Without(seen.Annotations, defaults.Annotations)
	if !ours {
		seen = seen.required()
	}
	r.Diags.Append(m.follow(ctx, spec{}, seen)...)
	others := slices.DeleteFunc(seen.Namespaces,
		func(namespace string) bool { return namespace == m.Namespace.ValueString() })
	m.Namespaces = tf.Encode(tf.NewConverter(ctx), m.Namespaces, others)
}

// required returns the settings that every configuration has. An apply does not remove the others from a queue of
// another client, so its plan must not show their removal; see warnOfRetained.
func (s spec) required() spec {
	out := spec{Queue: kueue.Queue{Flavors: s.Flavors, Namespaces: s.Namespaces}}
	if slices.ContainsFunc(s.Flavors, limitsCohort) {
		out.Cohort = s.Cohort // which the limits require
	}
	if s.KAI != nil {
		of := func(share kai.Share) kai.Share { return kai.Share{Quota: share.Quota, Limit: share.Limit} }
		out.KAI = &kai.Queue{Name: s.KAI.Name, GPU: of(s.KAI.GPU), CPU: of(s.KAI.CPU), Memory: of(s.KAI.Memory)}
	}
	return out
}

// limitsCohort reports whether a flavor has a quota with a limit for the cohort.
func limitsCohort(flavor kueue.Flavor) bool {
	for _, quota := range flavor.Quotas {
		if quota.BorrowingLimit != nil || quota.LendingLimit != nil {
			return true
		}
	}
	return false
}
