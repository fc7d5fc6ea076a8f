// Package owned manages the objects that resources own in the cluster. It remembers what was applied, distinguishes
// objects of a resource from others, runs server-side dry runs, and reports who has changed an object.
package owned

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Memory is the record of what the provider applied, by manifest.Key. It distinguishes a changed value from one that
// the server only stores in another notation, and a field that another manager has taken over from one that the
// provider never applied.
type Memory map[string]Entry

// Entry is the record of one object.
type Entry struct {
	UID      types.UID       `json:"uid,omitempty"`
	Set      json.RawMessage `json:"set,omitempty"` // FieldsV1; nil until a response was received
	Admitted map[string]any  `json:"admitted,omitempty"`
	// Sent is the object that was sent, if the object in state contains changes of others.
	Sent *unstructured.Unstructured `json:"sent,omitempty"`
	// Assumed is true if no response to the apply was received. Then Set contains the fields that a refresh found to
	// be ours.
	Assumed bool `json:"assumed,omitempty"`
	// Creation is the id of the creation that made the object. While UID is empty, no response to that creation was
	// received. With a UID, the object has the id in [kube.CreationAnnotation], and every apply keeps it. An adopted
	// object has none, or its UID; see [Memory.Marked].
	Creation string `json:"creation,omitempty"`
	// Adopted is true if other clients have applied the fields of Set, and the object was imported, but not applied
	// since.
	Adopted bool `json:"adopted,omitempty"`
	// Recovered is true if the entry was lost and restored from the attributes in state alone, until a refresh
	// completes it: Terraform drops the private state if the provider exits during an update. Without a UID, the entry
	// is for any object of this provider.
	Recovered bool `json:"recovered,omitempty"`
}

// recorded reports whether a response to the apply was received.
func (e Entry) recorded() bool { return e.Set != nil }

// complete reports whether Set contains all fields that were ours after the last apply.
func (e Entry) complete() bool {
	return e.recorded() && !e.Assumed && !e.Adopted && string(e.Set) != "{}"
}

// Expect records that the creation may have created an object, although no response was received.
func (m Memory) Expect(key string, creation *Creation) {
	m[key] = Entry{Creation: creation.identity()}
}

// Expects reports whether no response to the creation of an object was received.
func (m Memory) Expects(key string) bool {
	entry := m[key]
	return entry.Creation != "" && entry.UID == ""
}

// RecoverObjects adds entries for the objects in the attribute manifests of a state if there are none. uid is the UID
// of the object for which hasUID is true, or "" if the state contains none. A nil hasUID is true for all.
func (m Memory) RecoverObjects(
	manifests basetypes.MapValue, uid types.UID, hasUID func(*unstructured.Unstructured) bool,
) {
	if len(m) > 0 || uid == "" {
		return
	}
	for _, obj := range Manifests(manifests) {
		entry := Entry{Recovered: true}
		if hasUID == nil || hasUID(obj) {
			entry.UID = uid
		}
		m[manifest.Key(obj)] = entry
	}
}

// Has reports whether live is the object of the entry. Until a response contained its UID, this is the object that
// the creation created. Without an entry, it must be from an unfinished creation, because a complete object may
// belong to another state.
func (m Memory) Has(key string, live *unstructured.Unstructured) (bool, error) {
	entry := m[key]
	if entry.UID != "" {
		return entry.made(live), nil
	}
	_, ours, err := kube.OwnedFields(live)
	return ours && entry.made(live), err
}

// made reports whether live, an object of this provider, is that of the entry.
func (e Entry) made(live *unstructured.Unstructured) bool {
	switch {
	case e.UID != "":
		return live.GetUID() == e.UID
	case e.Creation != "":
		return kube.CreationOf(live) == e.Creation
	case e.Recovered:
		return true
	}
	return kube.UnfinishedCreation(live) != ""
}

// Remember records the server's response for an object that we sent. It returns the fields that admission has set to
// another value than the one sent.
func (m Memory) Remember(key string, sent, response *unstructured.Unstructured) ([]string, error) {
	set, ok, err := kube.OwnedFields(response)
	if !ok {
		return nil, fmt.Errorf("%s: the server did not record which fields are ours: %w", key, err)
	}
	return m.RememberSet(key, sent, response, set), nil
}

// RememberSet is like Remember, but with a given set of fields instead of the one in the response.
func (m Memory) RememberSet(key string, sent, response *unstructured.Unstructured, set *fieldpath.Set) []string {
	applied, rewritten := fields.Admit(sent.Object, response, set)
	m[key] = Entry{UID: response.GetUID(), Set: fields.Format(set), Admitted: applied.Admitted,
		Creation: kube.MarkedCreation(response)}
	return rewritten
}

// Marked returns the object to send, with the annotation of its creation. An apply without the annotation removes it.
//
// An adopted object gets the annotation, with its UID, when an apply would remove all of our annotations: server-side
// apply then also removes those that nobody manages, which admission has set. Knative rejects that.
func (m Memory) Marked(key string, obj *unstructured.Unstructured) *unstructured.Unstructured {
	entry := m[key]
	id := entry.Creation
	if id == "" && len(obj.GetAnnotations()) == 0 && entry.hasAnnotations() {
		id = string(entry.UID)
	}
	if id == "" {
		return obj
	}
	return kube.MarkCreation(obj, id)
}

// hasAnnotations reports whether annotations of the object are ours.
func (e Entry) hasAnnotations() bool {
	set, err := fields.Parse(e.Set)
	metadata, annotations := fieldpath.FieldNameElement("metadata"), fieldpath.FieldNameElement("annotations")
	return err == nil && !set.WithPrefix(metadata).WithPrefix(annotations).Empty()
}

// NeverApplied reports whether an object of another client was imported and never applied.
func (m Memory) NeverApplied(key string) bool {
	set, err := fields.Parse(m[key].Set)
	return m[key].Adopted || m[key].recorded() && err == nil && set.Empty()
}

// Drifted reports whether the last refresh has found changes of an object.
func (m Memory) Drifted(key string) bool { return m[key].Sent != nil }

// Contains reports whether there is an entry for an object with a namespace and name, or for one of the cluster with
// the name.
func (m Memory) Contains(identity Identity) bool {
	id, ofCluster := "/"+identity.ID().ValueString(), "//"+identity.Name.ValueString()
	for key := range m {
		if strings.HasSuffix(key, id) || strings.HasSuffix(key, ofCluster) {
			return true
		}
	}
	return false
}

// lastApplied returns what was last applied of one object. ok is false if there is none.
func (m Memory) lastApplied(key string, sent *unstructured.Unstructured) (applied fields.Applied, ok bool, err error) {
	e := m[key]
	if !e.recorded() {
		return fields.Applied{}, false, nil
	}
	set, err := fields.Parse(e.Set)
	if err != nil {
		return fields.Applied{}, false, err
	}
	if e.Sent != nil {
		sent = e.Sent
	}
	applied = fields.Applied{
		Object: sent.Object, Set: set, Admitted: e.Admitted, Recorded: !e.Assumed, Shared: manifest.Queued(sent),
	}
	return applied, true, nil
}

// Refreshed is the result of a refresh of one object.
type Refreshed struct {
	// Object contains our fields with their live values, in the notation that was sent if the value is unchanged.
	Object *unstructured.Unstructured
	// Changes are the fields whose value is no longer the one applied.
	Changes []fields.Change
	// Differs is true if Object is not the object in state.
	Differs bool
	// Unrecorded is true if a run of the provider made the changes and did not write them to this state: it was killed,
	// or it has another state.
	Unrecorded bool
	// InState is true if an earlier refresh has already written the changes to the state, and has warned of them. If
	// the configuration contains them as well, no apply removes them.
	InState bool
}

// Refresh compares an object with the one that we applied. inState is the object in state: the one that was sent, or
// the result of an earlier refresh. Without an entry, it uses the fields that the cluster records as ours. It
// remembers them if the object is from an unfinished creation whose response was lost, or if its entry was recovered.
// Any other object may belong to another state.
func (m Memory) Refresh(key string, inState, live *unstructured.Unstructured) (Refreshed, error) {
	applied, ok, err := m.lastApplied(key, inState)
	if err != nil {
		return Refreshed{}, err
	}
	if !ok {
		set, ours, err := kube.OwnedFields(live)
		if !ours {
			return Refreshed{Object: inState}, err
		}
		applied = fields.Applied{Object: inState.Object, Set: set, Shared: manifest.Queued(inState)}
		if ok = m[key].made(live); ok {
			m[key] = Entry{UID: live.GetUID(), Set: fields.Format(set), Assumed: true,
				Creation: kube.MarkedCreation(live)}
		}
	}
	var gained []fields.Change
	if ok && m[key].complete() {
		applied, gained = applied.WithGained(live, kube.CreationFields())
	}
	doc, changes := applied.Drift(manifest.WithTypedZeros(applied.Object, live))
	changes = append(gained, changes...)
	out := Refreshed{Object: &unstructured.Unstructured{Object: doc}, Changes: changes}
	entry := m[key]
	if len(changes) == 0 && entry.Sent == nil {
		return out, nil
	}
	was, err := manifest.JSON(inState)
	if err != nil {
		return out, err
	}
	now, err := manifest.JSON(out.Object)
	if err != nil {
		return out, err
	}
	out.Differs = was != now
	out.InState = entry.Sent != nil && !out.Differs
	remaining, unrecorded, err := applied.AppliedAgain(live, changes)
	if err != nil {
		return out, err
	}
	out.Unrecorded = unrecorded
	switch {
	case !ok:
	case unrecorded:
		m.RememberSet(key, out.Object, live, remaining)
	case len(changes) == 0:
		entry.Sent = nil
		m[key] = entry
	case entry.Sent == nil:
		entry.Sent = inState
		m[key] = entry
	}
	return out, nil
}

// Compare reports whether applying next would change an imported object. live contains the fields that are ours.
func (m Memory) Compare(key string, next, live *unstructured.Unstructured) fields.Match {
	set, err := fields.Parse(m[key].Set)
	if err != nil {
		return fields.Different
	}
	return fields.Compare(next.Object, live.Object, set)
}

// MergeForeign returns the object to send in order to change before to next. It includes what others have added
// inside fields that we own with all their content, because an apply without it would remove it.
func (m Memory) MergeForeign(
	key string, before, next, live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	applied, known, err := m.lastApplied(key, before)
	if !known {
		return next, err
	}
	applied.Shared = applied.Shared || manifest.Queued(next) // it was suspended outside of its queue
	return &unstructured.Unstructured{Object: applied.MergeForeign(next.Object, live)}, nil
}

// Release removes the fields at paths that others have taken over from the entry, and returns the sent object
// without them: the same one if there are none.
func (m Memory) Release(
	key string, sent, live *unstructured.Unstructured, paths [][]string,
) (*unstructured.Unstructured, error) {
	if len(paths) == 0 {
		return sent, nil
	}
	applied, known, err := m.lastApplied(key, sent)
	if !known {
		return sent, err
	}
	released, err := applied.Released(live, paths)
	if len(released) == 0 {
		return sent, err
	}
	applied = applied.Without(released)
	entry := m[key]
	entry.Set, entry.Admitted, entry.Sent = fields.Format(applied.Set), applied.Admitted, nil
	m[key] = entry
	return &unstructured.Unstructured{Object: applied.Object}, nil
}

// PrivateReader reads the private state of a request.
type PrivateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// PrivateWriter writes the private state of a response.
type PrivateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// memoryKey is the key of the memory in a resource's private state.
const memoryKey = "applied"

// LoadMemory reads the memory from private state. It is empty if there is none.
func LoadMemory(ctx context.Context, private PrivateReader) (Memory, diag.Diagnostics) {
	m, diags := Load[Memory](ctx, private, memoryKey)
	if m == nil {
		m = Memory{}
	}
	return m, diags
}

// Save writes the memory into private state.
func (m Memory) Save(ctx context.Context, private PrivateWriter) diag.Diagnostics {
	return Save(ctx, private, memoryKey, m)
}

// Load reads a value that Save wrote. It returns the zero value if there is none, or, with a warning, if it cannot
// be read.
func Load[T any](ctx context.Context, private PrivateReader, key string) (T, diag.Diagnostics) {
	var value T
	data, diags := private.GetKey(ctx, key)
	if err := json.Unmarshal(data, &value); err != nil && len(data) > 0 {
		value = *new(T)
		diags.AddWarning("Cannot read the provider's private state",
			err.Error()+"\n\nThe provider uses the records of the cluster instead.")
	}
	return value, diags
}

// Save saves a value in private state, as JSON.
func Save(ctx context.Context, private PrivateWriter, key string, value any) diag.Diagnostics {
	data, err := json.Marshal(value)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("Cannot write the provider's private state", err.Error())}
	}
	return private.SetKey(ctx, key, data)
}
