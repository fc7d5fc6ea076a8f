package secret

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Read looks at the one Secret. Its values are turned into digests at once, and
// all that follows is about these.
func (r *secretResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, state.identity())...)
	if resp.Diagnostics.HasError() || !r.configured() {
		return // the cluster is made in this run: what is in state stands
	}
	home, diags := owned.HomeOf(ctx, r.data, req.Private, "kt_secret", state.ID)
	resp.Diagnostics.Append(diags...)
	if diags.HasError() {
		return
	}
	known, diags := recall(ctx, req.Private, r.sealer())
	resp.Diagnostics.Append(diags...)

	live, err := r.data.Cluster.GetSecret(ctx, state.ref())
	look := reader{state: &state, known: known, ref: state.ref(), defaults: r.data.Defaults}
	switch {
	case kube.IsNotFound(err):
		resp.Diagnostics.Append(look.gone())
		resp.State.RemoveResource(ctx)
		return
	case kube.ClassOf(err) == kube.Denied && !state.Manifests.IsNull():
		resp.Diagnostics.Append(tf.Caution(err, "The state is kept as it is, and what somebody may have changed is not seen. Applying works without this right."))
		return
	case err != nil:
		resp.Diagnostics.Append(tf.Failure(err))
		return
	}
	importing := state.Manifests.IsNull()
	if importing {
		err = look.imported(live)
	} else {
		err = look.refresh(live)
	}
	resp.Diagnostics.Append(look.diags...)
	switch {
	case errors.Is(err, owned.ErrGone):
		resp.State.RemoveResource(ctx)
	case err != nil:
		resp.Diagnostics.Append(tf.Failure(err))
	default:
		if !importing {
			owned.Keep(r.data.Cluster, look.ref, live, look.resource())
		}
		resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
		resp.Diagnostics.Append(look.known.save(ctx, resp.Private)...)
		resp.Diagnostics.Append(home.Learn(ctx, resp.Private)...)
	}
}

// reader brings one state up to date.
type reader struct {
	state    *model
	known    remembered
	ref      kube.Ref
	defaults tf.Defaults
	diags    diag.Diagnostics
}

// resource is the type and ID.
func (l *reader) resource() string { return "kt_secret " + l.state.ID.ValueString() }

// gone is what to say of a Secret that is not there.
func (l *reader) gone() diag.Diagnostic {
	if l.state.Manifests.IsNull() {
		return diag.NewErrorDiagnostic("Nothing to import", fmt.Sprintf("There is no %s.\n\nInvestigate with:\n  kubectl get secrets -n %s", l.ref, l.ref.Namespace))
	}
	return l.known.memory.Missing(secretKey(l.ref), l.ref)
}

// refresh compares the Secret with what was applied.
func (l *reader) refresh(live *unstructured.Unstructured) error {
	key := secretKey(l.ref)
	l.known.memory.Recover(key, apitypes.UID(l.state.UID.ValueString()), false)
	_, diags, err := l.known.memory.Recognize(key, l.ref, live, l.resource())
	l.diags.Append(diags...)
	if err != nil {
		return err
	}
	sent, err := l.sent()
	if err != nil {
		return err
	}
	data := kube.SecretData(live)
	if l.known.notes.Matched == versionOf(live) {
		l.known.ledger.Learn(data)
	}
	veiled := l.known.ledger.Veil(live, data)
	extra := beyond(live, keysOf(l.known.ledger))
	memory, err := watching(l.known.memory, key, extra)
	if err != nil {
		return err
	}
	fresh, err := memory.Refresh(key, sent, veiled)
	if err != nil {
		return err
	}
	if entry, known := l.known.memory[key]; known {
		entry.Sent = memory[key].Sent // the rest is for this comparison only
		l.known.memory[key] = entry
	}
	l.keys(data, extra, fresh.Changes)
	l.state.UID = types.StringValue(string(live.GetUID()))
	l.known.notes.Ending = live.GetDeletionTimestamp() != nil
	if l.known.notes.Ending {
		l.diags.Append(owned.TerminatingWarning(l.ref, live))
	}
	l.renew(key, live, data, extra, fresh.Changes)
	l.diags.Append(owned.DriftWarning(l.ref, fresh.Changes)...)
	if !fresh.Moved {
		return nil
	}
	now := spec.WithoutData(fresh.Object)
	text, err := manifest.JSON(now)
	if err != nil {
		return err
	}
	l.state.Manifests = textMap(map[string]string{key: text})
	l.state.Labels = follow(l.state.Labels, sent.GetLabels(), now.GetLabels())
	l.state.Annotations = follow(l.state.Annotations, sent.GetAnnotations(), now.GetAnnotations())
	return nil
}

// secretKey is the key of a Secret in manifests.
func secretKey(ref kube.Ref) string { return "Secret/" + ref.Namespace + "/" + ref.Name }

// renew notes that the values are those of the ledger, so that the next refresh need not digest them, and brings a ledger of
// the first version to the present method. It needs the values for that, and does nothing where one is another.
func (l *reader) renew(key string, live *unstructured.Unstructured, data map[string][]byte, extra []string, changes []fields.Change) {
	l.known.notes.Matched = ""
	if len(extra) > 0 || len(data) != len(l.known.ledger.Values) ||
		slices.ContainsFunc(changes, func(c fields.Change) bool { return strings.HasPrefix(c.Path, "data") }) {
		return
	}
	l.known.notes.Matched = versionOf(live)
	entry := l.known.memory[key]
	_, rewritten := entry.Admitted["data"]
	if l.known.ledger.Method == "" && !rewritten && entry.Sent == nil { // else it holds old digests as well
		l.known.ledger = l.known.ledger.Renewed(data)
	}
}

// sent is what was applied, with digests for values.
func (l *reader) sent() (*unstructured.Unstructured, error) {
	for _, text := range texts(l.state.Manifests) {
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON([]byte(text)); err != nil {
			return nil, fmt.Errorf("the attribute manifests cannot be read: %w", err)
		}
		return l.known.ledger.Recall(obj), nil
	}
	return nil, fmt.Errorf("the attribute manifests is empty")
}

// keys brings the attribute up to date.
func (l *reader) keys(data map[string][]byte, extra []string, changes []fields.Change) {
	changed := map[string]bool{}
	for _, change := range changes {
		changed[change.Path] = true
	}
	out := map[string]string{}
	for key, entry := range l.known.ledger.Values {
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
	for key, text := range texts(l.state.Keys) { // until the first apply after an import
		if _, there := out[key]; there && text == imported && out[key] != missingThere {
			out[key] = imported
		}
	}
	l.state.Keys = textMap(out)
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
