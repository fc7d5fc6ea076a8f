package secret

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// Refresh compares the Secret with what was applied. Its values are turned into
// digests at once, and all that follows is about these.
func (hooks) Refresh(ctx context.Context, r *reading) error {
	l := reader{reading: r, ref: r.State.ref()}
	live, err := r.Data.Cluster.GetSecret(ctx, l.ref)
	switch {
	case kube.IsNotFound(err):
		r.Diags.Append(r.Memory.Missing(secretKey(l.ref), l.ref))
		return owned.ErrGone
	case kube.ClassOf(err) == kube.Denied:
		return lifecycle.KeepState(err, "The state is kept as it is, and what somebody may have changed is not seen. "+
			"Applying works without this right.")
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

// Import reads a Secret into a new state.
func (hooks) Import(ctx context.Context, r *reading) error {
	l := reader{reading: r, ref: r.State.ref()}
	live, err := r.Data.Cluster.GetSecret(ctx, l.ref)
	switch {
	case kube.IsNotFound(err):
		r.Diags.AddError("Nothing to import", fmt.Sprintf(
			"There is no %s.\n\nInvestigate with:\n  kubectl get secrets -n %s", l.ref, l.ref.Namespace))
		return owned.ErrGone
	case kube.ClassOf(err) == kube.Denied: // an error, since there is no state to keep
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

// resource is the type and ID.
func (l reader) resource() string { return "kt_secret " + l.State.ID.ValueString() }

// refresh compares the Secret with what was applied.
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
	if l.PrivateState.privateState.Matched == versionOf(live) {
		l.PrivateState.ledger.Learn(data)
	}
	veiled := l.PrivateState.ledger.Veil(live, data)
	extra := beyond(live, keysOf(l.PrivateState.ledger))
	memory, err := watching(l.Memory, key, extra)
	if err != nil {
		return err
	}
	fresh, err := memory.Refresh(key, sent, veiled)
	if err != nil {
		return err
	}
	if entry, known := l.Memory[key]; known {
		entry.Sent = memory[key].Sent // the rest is for this comparison only
		l.Memory[key] = entry
	}
	l.keys(data, extra, fresh.Changes)
	l.State.UID = types.StringValue(string(live.GetUID()))
	l.PrivateState.privateState.Ending = live.GetDeletionTimestamp() != nil
	if l.PrivateState.privateState.Ending {
		l.Diags.Append(owned.TerminatingWarning(l.ref, live))
	}
	l.renew(key, live, data, extra, fresh.Changes)
	l.Diags.Append(owned.DriftWarning(l.ref, fresh.Changes)...)
	if !fresh.Differs {
		return nil
	}
	now := spec.WithoutData(fresh.Object)
	text, err := manifest.JSON(now)
	if err != nil {
		return err
	}
	l.State.Manifests = textMap(map[string]string{key: text})
	l.State.Labels = follow(l.State.Labels, sent.GetLabels(), now.GetLabels())
	l.State.Annotations = follow(l.State.Annotations, sent.GetAnnotations(), now.GetAnnotations())
	return nil
}

// secretKey is the key of a Secret in manifests.
func secretKey(ref kube.Ref) string { return "Secret/" + ref.Namespace + "/" + ref.Name }

// renew notes that the values are those of the ledger, so that the next refresh
// need not digest them, and brings a ledger of the first version to the present
// method. It needs the values for that, and does nothing where one is another.
func (l reader) renew(
	key string, live *unstructured.Unstructured, data map[string][]byte, extra []string, changes []fields.Change,
) {
	l.PrivateState.privateState.Matched = ""
	if len(extra) > 0 || len(data) != len(l.PrivateState.ledger.Values) ||
		slices.ContainsFunc(changes, func(c fields.Change) bool { return strings.HasPrefix(c.Path, "data") }) {
		return
	}
	l.PrivateState.privateState.Matched = versionOf(live)
	entry := l.Memory[key]
	_, rewritten := entry.Admitted["data"]
	if l.PrivateState.ledger.Method == "" && !rewritten && entry.Sent == nil { // else it holds old digests as well
		l.PrivateState.ledger = l.PrivateState.ledger.Renewed(data)
	}
}

// sent is what was applied, with digests for values.
func (l reader) sent() (*unstructured.Unstructured, error) {
	for _, text := range texts(l.State.Manifests) {
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON([]byte(text)); err != nil {
			return nil, fmt.Errorf("the attribute manifests cannot be read: %w", err)
		}
		return l.PrivateState.ledger.Recall(obj), nil
	}
	return nil, fmt.Errorf("the attribute manifests is empty")
}

// keys brings the attribute up to date.
func (l reader) keys(data map[string][]byte, extra []string, changes []fields.Change) {
	changed := map[string]bool{}
	for _, change := range changes {
		changed[change.Path] = true
	}
	out := map[string]string{}
	for key, entry := range l.PrivateState.ledger.Values {
		_, there := data[key]
		switch {
		case !there:
			out[key] = missingThere
		case changed[fields.String(dataPath(key))]:
			out[key] = changedThere
		default:
			out[key] = entry.Text
		}
	}
	for _, key := range extra {
		out[key] = addedThere
	}
	for key, text := range texts(l.State.Keys) { // until the first apply after an import
		if _, there := out[key]; there && text == imported && out[key] != missingThere {
			out[key] = imported
		}
	}
	l.State.Keys = textMap(out)
}

func dataPath(key string) fieldpath.Path { return fieldpath.MakePathOrDie("data", key) }

func keysOf(ledger spec.Ledger) []string {
	var out []string
	for key := range ledger.Values {
		out = append(out, key)
	}
	return out
}

// watching is the memory, with the keys of others as if they were ours and had
// not been there: so their being there is told like any other change.
func watching(memory owned.Memory, key string, extra []string) (owned.Memory, error) {
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

// follow gives labels or annotations of the configuration the values that they
// have now. Those that it does not name show in manifests only.
func follow(attribute types.Map, before, after map[string]string) types.Map {
	given := texts(attribute)
	changed := false
	for key := range given {
		if before[key] == after[key] {
			continue
		}
		changed = true
		if value, there := after[key]; there {
			given[key] = value
		} else {
			delete(given, key)
		}
	}
	if !changed {
		return attribute
	}
	return textMap(given)
}
