package secret

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Refresh compares the Secret with the applied one. It replaces the values by digests first, and uses only these.
func (hooks) Refresh(ctx context.Context, r *reading) error {
	l := reader{reading: r, ref: r.State.ref()}
	listed, err := l.unchanged(ctx)
	switch {
	case listed != nil:
		owned.RecordInState(r.Data.Cluster, l.ref, listed, l.resource())
		return nil
	case err == nil && r.Short:
		return errValuesNeeded
	case err != nil:
		return err
	}
	live, err := r.Data.Cluster.GetSecret(ctx, l.ref)
	switch {
	case kube.IsNotFound(err):
		r.Diags.Append(r.Memory.Missing(secretKey(l.ref), l.ref))
		return owned.ErrGone
	case kube.ClassOf(err) == kube.Denied:
		return lifecycle.KeepState(err, "The state is kept unchanged, and changes in the cluster are not detected. "+
			"An apply does not require this permission.")
	case err != nil:
		return err
	}
	if err := l.refresh(live); err != nil {
		return err
	}
	owned.RecordInState(r.Data.Cluster, l.ref, live, l.resource())
	r.MemoryChanged = true
	return nil
}

// errValuesNeeded ends a refresh on the short path, so that the Secret is not read twice.
var errValuesNeeded = errors.New("the values have to be read")

// Import reads a Secret into a new state.
func (hooks) Import(ctx context.Context, r *reading) error {
	l := reader{reading: r, ref: r.State.ref()}
	live, err := r.Data.Cluster.GetSecret(ctx, l.ref)
	switch {
	case kube.IsNotFound(err):
		r.Diags.AddError("Nothing to import", fmt.Sprintf(
			"%s does not exist.\n\nInvestigate with:\n  kubectl get secrets -n %s", l.ref, l.ref.Namespace))
		return owned.ErrGone
	case kube.ClassOf(err) == kube.Denied: // an error, because there is no state to keep
		r.Diags.Append(tf.Failure(err))
		return owned.ErrGone
	case err != nil:
		return err
	}
	if err := l.imported(live); err != nil {
		return err
	}
	r.MemoryChanged = true
	return nil
}

// reader updates one state.
type reader struct {
	*reading
	ref kube.Ref
}

// resource returns the type and ID.
func (l reader) resource() string { return "kt_secret " + l.State.ID.ValueString() }

// unchanged returns the metadata of the Secret if it is the version at which the values matched the digests. Then the
// values need not be read. It returns nil otherwise, or if that is unknown.
func (l reader) unchanged(ctx context.Context) (*unstructured.Unstructured, error) {
	status := l.PrivateState.secretStatus
	if status.Matched == "" || status.Ending {
		return nil, nil
	}
	listed, err := l.Data.Cluster.ListedSecret(ctx, l.ref)
	if err != nil || listed == nil || versionOf(listed) != status.Matched {
		return nil, err
	}
	return listed, nil
}

// refresh compares the Secret with the applied one.
func (l reader) refresh(live *unstructured.Unstructured) error {
	key := secretKey(l.ref)
	l.Memory.Recover(key, apitypes.UID(l.State.UID.ValueString()), false)
	_, diags, err := l.Memory.Recognize(key, l.ref, live, l.resource())
	l.Diags.Append(diags...)
	if err != nil {
		return err
	}
	sent, err := l.sent()
	if err != nil {
		return err
	}
	data := kube.SecretData(live)
	if l.PrivateState.secretStatus.Matched == versionOf(live) {
		l.PrivateState.digests.Confirm(data)
	}
	masked := l.PrivateState.digests.Mask(live, data)
	extra := extraKeys(live, slices.Collect(maps.Keys(l.PrivateState.digests.Values)))
	memory, err := withForeignKeys(l.Memory, key, extra)
	if err != nil {
		return err
	}
	fresh, err := memory.Refresh(key, sent, masked)
	if err != nil {
		return err
	}
	if entry, known := l.Memory[key]; known {
		entry.Sent = memory[key].Sent // other fields are only for this comparison
		l.Memory[key] = entry
	}
	l.keys(data, extra, fresh.Changes)
	l.State.UID = types.StringValue(string(live.GetUID()))
	l.PrivateState.secretStatus.Ending = live.GetDeletionTimestamp() != nil
	if l.PrivateState.secretStatus.Ending {
		l.Diags.Append(owned.TerminatingWarning(l.ref, live))
	}
	l.updateDigests(key, live, data, extra, fresh.Changes)
	l.Diags.Append(owned.DriftWarning(l.ref, fresh.Changes)...)
	if !fresh.Differs {
		return nil
	}
	now := spec.WithoutData(fresh.Object)
	text, err := manifest.JSON(now)
	if err != nil {
		return err
	}
	l.State.Manifests = tf.TextMap(map[string]string{key: text})
	l.State.Labels = follow(l.State.Labels, sent.GetLabels(), now.GetLabels())
	l.State.Annotations = follow(l.State.Annotations, sent.GetAnnotations(), now.GetAnnotations())
	return nil
}

// secretKey returns the key of a Secret in manifests.
func secretKey(ref kube.Ref) string { return "Secret/" + ref.Namespace + "/" + ref.Name }

// updateDigests records that the values match the digests, so that the next refresh need not compute them. It also
// converts digests of the first version to the current method, which requires all values. It does nothing if anything
// differs.
func (l reader) updateDigests(
	key string, live *unstructured.Unstructured, data map[string][]byte, extra []string, changes []fields.Change,
) {
	l.PrivateState.secretStatus.Matched = ""
	if len(extra) > 0 || len(changes) > 0 || len(data) != len(l.PrivateState.digests.Values) {
		return
	}
	l.PrivateState.secretStatus.Matched = versionOf(live)
	entry := l.Memory[key]
	_, rewritten := entry.Admitted["data"]
	// otherwise it also contains old digests
	if l.PrivateState.digests.Method == "" && !rewritten && entry.Sent == nil {
		l.PrivateState.digests = l.PrivateState.digests.Renewed(data)
	}
}

// sent returns the applied Secret, with digests instead of values.
func (l reader) sent() (*unstructured.Unstructured, error) {
	for _, text := range tf.Texts(l.State.Manifests) {
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON([]byte(text)); err != nil {
			return nil, fmt.Errorf("cannot read the attribute manifests: %w", err)
		}
		return l.PrivateState.digests.MaskApplied(obj), nil
	}
	return nil, fmt.Errorf("the attribute manifests is empty")
}

// keys updates the attribute keys.
func (l reader) keys(data map[string][]byte, extra []string, changes []fields.Change) {
	changed := map[string]bool{}
	for _, change := range changes {
		changed[change.Path] = true
	}
	out := map[string]string{}
	for key, entry := range l.PrivateState.digests.Values {
		_, there := data[key]
		switch {
		case !there:
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
	for key, text := range tf.Texts(l.State.Keys) { // unchanged until the first apply after an import
		if _, there := out[key]; there && text == imported && out[key] != missingInCluster {
			out[key] = imported
		}
	}
	l.State.Keys = tf.TextMap(out)
}

func dataPath(key string) fieldpath.Path { return fieldpath.MakePathOrDie("data", key) }

// withForeignKeys returns the memory as if keys of others were ours and had been absent. Their presence is then
// reported like any other change.
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
	if entry.Set, err = fields.Format(set); err != nil {
		return nil, err
	}
	out := maps.Clone(memory)
	out[key] = entry
	return out, nil
}

// follow sets labels or annotations of the configuration to their live values. Others appear only in manifests.
func follow(attribute types.Map, before, after map[string]string) types.Map {
	configured := tf.Texts(attribute)
	changed := false
	for key := range configured {
		if before[key] == after[key] {
			continue
		}
		changed = true
		if value, there := after[key]; there {
			configured[key] = value
		} else {
			delete(configured, key)
		}
	}
	if !changed {
		return attribute
	}
	return tf.TextMap(configured)
}
