package secret

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Refresh compares the Secret with the applied one. It compares digests instead of the values.
func (hooks) Refresh(ctx context.Context, reading *reading) error {
	r := reader{reading: reading, ref: reading.State.ref()}
	listed, err := r.unchanged(ctx)
	switch {
	case err != nil:
		return err
	case listed != nil:
		r.Data.Run.Hold(listed.GetUID(), r.Resource)
		return nil
	case r.Short:
		return errValuesNeeded
	}
	live, err := r.Data.Cluster.API.Get(ctx, r.ref)
	switch {
	case kube.IsNotFound(err):
		r.Diags.Append(r.Memory.Missing(secretKey(r.ref), r.ref))
		return owned.ErrGone
	case kube.ClassOf(err) == kube.Denied:
		r.Diags.Append(tf.Warning(err, "The state is kept unchanged, and changes in the cluster are not detected. "+
			"An apply does not require this permission."))
		return lifecycle.ErrKept
	case err != nil:
		return err
	}
	if err := r.refresh(live); err != nil {
		return err
	}
	owned.RecordInState(r.Data.Run, r.ref, live, r.Resource)
	return nil
}

// errValuesNeeded ends a refresh on the short path, so that the Secret is not read twice.
var errValuesNeeded = errors.New("the values have to be read")

// Import reads a Secret into a new state.
func (hooks) Import(ctx context.Context, reading *reading) error {
	r := reader{reading: reading, ref: reading.State.ref()}
	if r.Listing != nil {
		r.importListed(r.Live)
		return nil
	}
	live, err := r.Data.Cluster.API.Get(ctx, r.ref)
	switch {
	case kube.IsNotFound(err):
		return r.NothingToImport(fmt.Sprintf(
			"%s does not exist.\n\nInvestigate with:\n  kubectl get secrets -n %s", r.ref, r.ref.Namespace))
	case err != nil:
		return err
	}
	return r.importSecret(ctx, live)
}

// reader refreshes or imports one state.
type reader struct {
	*reading
	ref kube.Ref
}

// unchanged returns the metadata of the Secret if it is the version at which the values matched the digests, and its
// creation is complete. Then the values need not be read. It returns nil otherwise, or if that is unknown.
func (r reader) unchanged(ctx context.Context) (*unstructured.Unstructured, error) {
	if r.PrivateState.Matched == "" {
		return nil, nil
	}
	listed, err := r.Data.Cluster.Store.SecretMetadata(ctx, r.ref)
	if err != nil || listed == nil || listed.GetDeletionTimestamp() != nil || !r.PrivateState.matches(listed) {
		return nil, err
	}
	if _, unfinished := listed.GetAnnotations()[kube.UnfinishedAnnotation]; unfinished {
		return nil, nil // the refresh removes the annotation
	}
	return listed, nil
}

// refresh compares the Secret with the applied one.
func (r reader) refresh(live *unstructured.Unstructured) error {
	r.PrivateState.open(r.Data)
	key := secretKey(r.ref)
	diags, err := r.Memory.Recognize(key, r.ref, live, r.Resource)
	r.Diags.Append(diags...)
	if err != nil {
		return err
	}
	sent, err := owned.ObjectIn(r.State.Manifests)
	if err != nil || sent == nil { // nil: manifests is empty, which no apply writes
		return err
	}
	sent = r.PrivateState.Digests.MaskApplied(sent)
	data := kube.SecretData(live)
	if r.PrivateState.Matched == versionOf(live) {
		r.PrivateState.Digests.Confirm(data)
	}
	masked := r.PrivateState.Digests.Mask(live, data)
	extra := extraKeys(live, slices.Collect(maps.Keys(r.PrivateState.Digests.Values)))
	memory, err := withForeignKeys(r.Memory, key, extra)
	if err != nil {
		return err
	}
	fresh, err := memory.Refresh(key, sent, masked)
	if err != nil {
		return err
	}
	if entry, known := r.Memory[key]; known {
		entry.Sent = memory[key].Sent // other fields are only for this comparison
		r.Memory[key] = entry
	}
	r.setKeys(data, extra, fresh.Changes)
	r.SetLive(r.ref, live)
	r.recordMatch(live, data, extra, fresh.Changes)
	r.Diags.Append(owned.DriftWarning(r.ref, fresh)...)
	if !fresh.Differs {
		return nil
	}
	current := spec.WithoutData(fresh.Object)
	if r.State.Manifests, err = owned.ManifestsOf(current); err != nil {
		return err
	}
	r.State.Labels = tf.CurrentEntries(r.State.Labels, sent.GetLabels(), current.GetLabels())
	r.State.Annotations = tf.CurrentEntries(r.State.Annotations, sent.GetAnnotations(), current.GetAnnotations())
	return nil
}

// secretKey returns the [manifest.Key] of a Secret.
func secretKey(ref kube.Ref) string { return "Secret/" + ref.Namespace + "/" + ref.Name }

// recordMatch records whether the values match the digests, so that the next refresh need not compute them.
func (r reader) recordMatch(
	live *unstructured.Unstructured, data map[string][]byte, extra []string, changes []fields.Change,
) {
	r.PrivateState.Matched, r.PrivateState.History = "", ""
	if len(extra) == 0 && len(changes) == 0 && len(data) == len(r.PrivateState.Digests.Values) {
		r.PrivateState.match(live)
	}
}

// setKeys updates the attribute keys.
func (r reader) setKeys(data map[string][]byte, extra []string, changes []fields.Change) {
	changed := map[string]bool{}
	for _, change := range changes {
		changed[change.Path] = true
	}
	out := map[string]string{}
	for key, entry := range r.PrivateState.Digests.Values {
		_, exists := data[key]
		switch {
		case !exists:
			out[key] = missingInCluster
		case changed[fields.String(dataPath(key))]:
			out[key] = changedInCluster
		default:
			out[key] = entry.Text
		}
	}
	for _, key := range extra {
		out[key] = addedInCluster
	}
	for key, text := range tf.Texts(r.State.Keys) { // unchanged until the first apply after an import
		if _, exists := out[key]; exists && text == imported && out[key] != missingInCluster {
			out[key] = imported
		}
	}
	r.State.Keys = tf.TextMap(out)
}

func dataPath(key string) fieldpath.Path { return fieldpath.MakePathOrDie("data", key) }

// withForeignKeys returns the memory as if the provider owned the keys that other clients added, and had applied them
// as absent. A refresh then reports them like any other change.
func withForeignKeys(memory owned.Memory, key string, extra []string) (owned.Memory, error) {
	entry, known := memory[key]
	if !known || len(extra) == 0 || len(entry.Set) == 0 {
		return memory, nil
	}
	set, err := fields.Parse(entry.Set)
	if err != nil {
		return nil, err
	}
	for _, key := range extra {
		set.Insert(dataPath(key))
	}
	entry.Set = fields.Format(set)
	out := maps.Clone(memory)
	out[key] = entry
	return out, nil
}
