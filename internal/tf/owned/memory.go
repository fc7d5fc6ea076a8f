// Package owned is what all resources do with the objects that they own in the
// cluster: remember what was applied, tell what is theirs from what is not,
// ask the server before it is changed, and say who changed it since.
package owned

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Memory is what the provider remembers of its own writes, by manifest.Key.
// It tells a value that somebody changed from one that the server only writes
// another way, and a field that somebody took from us from one we never had.
type Memory map[string]Entry

// Entry is what is remembered of one object.
type Entry struct {
	UID      types.UID       `json:"uid,omitempty"`
	Set      json.RawMessage `json:"set,omitempty"` // FieldsV1; nil while no answer told
	Admitted map[string]any  `json:"admitted,omitempty"`
	// Sent is what was sent, while state holds what somebody has made of it.
	Sent json.RawMessage `json:"sent,omitempty"`
	// Assumed says that no answer told what the server made of the object: Set is
	// what a refresh found to be ours.
	Assumed bool `json:"assumed,omitempty"`
	// Creation is the id of the creation that made the object. While UID is empty, no
	// response to that creation was received. With a UID, the object has the id in
	// [kube.CreationAnnotation], and every apply keeps it.
	Creation string `json:"creation,omitempty"`

	anyOfOurs bool // nothing else is known, since the private state was lost
}

// answered says whether what the server made of the object is known.
func (e Entry) answered() bool { return len(e.Set) > 0 }

// Expect notes that the creation may have made an object, or would have, and that
// no answer tells.
func (m Memory) Expect(key string, creation *Creation) {
	m[key] = Entry{Creation: creation.identity()}
}

// Expects says whether the creation of an object has had no answer.
func (m Memory) Expects(key string) bool {
	entry := m[key]
	return entry.Creation != "" && entry.UID == ""
}

// Recover adds what state tells of an object that is not remembered: the UID of
// the object, or where there is none, that the resource has others with one.
func (m Memory) Recover(key string, uid types.UID, anyOfOurs bool) {
	if _, known := m[key]; !known && (uid != "" || anyOfOurs) {
		m[key] = Entry{UID: uid, anyOfOurs: uid == ""}
	}
}

// Has says whether live is the object that is remembered. While no answer told
// its UID, that is the one which the creation made. Without anything remembered,
// it has to be left from a creation: a complete one may be of another state.
func (m Memory) Has(key string, live *unstructured.Unstructured) (bool, error) {
	entry := m[key]
	_, ours, err := kube.OwnedFields(live)
	switch {
	case entry.UID != "":
		return live.GetUID() == entry.UID, nil
	case err != nil || !ours:
		return false, err
	case entry.Creation != "":
		return kube.CreationOf(live) == entry.Creation, nil
	case entry.anyOfOurs:
		return true, nil
	}
	return kube.UnfinishedCreation(live) != "", nil
}

// Remember notes what the server made of an object that we sent. The result
// lists fields that admission has set to another value than the one sent.
func (m Memory) Remember(key string, sent, response *unstructured.Unstructured) ([]string, error) {
	set, ok, err := kube.OwnedFields(response)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s: the server did not record which fields are ours: %w", key, err)
	}
	return m.Note(key, sent, response, set)
}

// Note is Remember for a set of fields that need not be what the server says.
func (m Memory) Note(key string, sent, response *unstructured.Unstructured, set *fieldpath.Set) ([]string, error) {
	applied, rewritten := fields.Admit(sent.Object, response, set)
	raw, err := fields.Format(set)
	if err != nil {
		return nil, err
	}
	m[key] = Entry{UID: response.GetUID(), Set: raw, Admitted: applied.Admitted, Creation: kube.MarkedCreation(response)}
	return rewritten, nil
}

// Marked returns what to send of an object: with the annotation that its creation
// gave it, which an apply without it would remove.
func (m Memory) Marked(key string, obj *unstructured.Unstructured) *unstructured.Unstructured {
	if entry := m[key]; entry.UID != "" && entry.Creation != "" {
		return kube.MarkCreation(obj, entry.Creation)
	}
	return obj
}

// Foreign says that an object was imported and never applied: no field of it is ours.
func (m Memory) Foreign(key string) bool {
	set, err := fields.Parse(m[key].Set)
	return m[key].answered() && err == nil && set.Empty()
}

// Names says whether an object of that namespace and name is remembered.
func (m Memory) Names(identity Identity) bool {
	for key := range m {
		if strings.HasSuffix(key, "/"+identity.ID().ValueString()) {
			return true
		}
	}
	return false
}

// recall restores the memory of one object; ok is false where there is none.
func (m Memory) recall(key string, sent *unstructured.Unstructured) (applied fields.Applied, ok bool, err error) {
	e := m[key]
	if !e.answered() {
		return fields.Applied{}, false, nil
	}
	set, err := fields.Parse(e.Set)
	if err == nil && e.Sent != nil {
		sent = &unstructured.Unstructured{}
		err = sent.UnmarshalJSON(e.Sent)
	}
	if err != nil {
		return fields.Applied{}, false, err
	}
	applied = fields.Applied{
		Object: sent.Object, Set: set, Admitted: e.Admitted, Recorded: !e.Assumed, Shared: manifest.Queued(sent),
	}
	return applied, true, nil
}

// Refreshed is an object as it is now.
type Refreshed struct {
	// Object holds the fields of ours, as they were sent wherever they still say so.
	Object *unstructured.Unstructured
	// Changes are the fields that no longer hold what was applied.
	Changes []fields.Change
	// Moved says that Object is not what is in state.
	Moved bool
	// Learned says that the memory has changed and is to be saved.
	Learned bool
}

// Refresh compares an object with what we applied. inState is what state holds of
// it: what was sent, or what a refresh has made of that. Where nothing is
// remembered of the object, what the cluster says is ours now has to do: that is
// remembered where the object was left by a creation, whose answer was lost then.
// Another one may be of another state.
func (m Memory) Refresh(key string, inState, live *unstructured.Unstructured) (Refreshed, error) {
	applied, ok, err := m.recall(key, inState)
	if err != nil {
		return Refreshed{}, err
	}
	learned := false
	if !ok {
		set, ours, err := kube.OwnedFields(live)
		if err != nil || !ours {
			return Refreshed{Object: inState}, err
		}
		applied = fields.Applied{Object: inState.Object, Set: set, Shared: manifest.Queued(inState)}
		if m.Expects(key) {
			ok = kube.CreationOf(live) == m[key].Creation
		} else {
			ok = kube.UnfinishedCreation(live) != ""
		}
		if ok {
			raw, err := fields.Format(set)
			if err != nil {
				return Refreshed{}, err
			}
			m[key], learned = Entry{UID: live.GetUID(), Set: raw, Assumed: true, Creation: kube.MarkedCreation(live)}, true
		}
	}
	doc, changes := applied.Drift(manifest.WithTypedZeros(applied.Object, live), kube.Manager)
	out := Refreshed{Object: &unstructured.Unstructured{Object: doc}, Changes: changes, Learned: learned}
	entry := m[key]
	if len(changes) == 0 && entry.Sent == nil {
		out.Object = inState
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
	out.Moved = was != now
	switch {
	case !ok:
	case len(changes) == 0:
		entry.Sent, out.Learned = nil, true
		m[key] = entry
	case entry.Sent == nil:
		entry.Sent, out.Learned = json.RawMessage(was), true
		m[key] = entry
	}
	return out, nil
}

// Compare says whether applying next would change an imported object, of which
// live holds the fields that are ours.
func (m Memory) Compare(key string, next, live *unstructured.Unstructured) fields.Match {
	set, err := fields.Parse(m[key].Set)
	if err != nil {
		return fields.Different
	}
	return fields.Compare(next.Object, live.Object, set)
}

// MergeForeign returns what to send so that next becomes of an object which was sent
// as before: with what others have added inside of fields that are ours as a
// whole, which sending them would take away.
func (m Memory) MergeForeign(key string, before, next, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	applied, known, err := m.recall(key, before)
	if err != nil || !known {
		return next, err
	}
	return &unstructured.Unstructured{Object: applied.MergeForeign(next.Object, live)}, nil
}

// Release forgets the fields at paths that others have taken over, and returns
// what was sent without them; ok is false where there are none.
func (m Memory) Release(key string, sent, live *unstructured.Unstructured, paths [][]string) (kept *unstructured.Unstructured, ok bool, err error) {
	applied, known, err := m.recall(key, sent)
	if err != nil || !known || len(paths) == 0 {
		return sent, false, err
	}
	released, err := applied.Released(live, kube.Manager, paths)
	if err != nil || len(released) == 0 {
		return sent, false, err
	}
	applied = applied.Without(released)
	raw, err := fields.Format(applied.Set)
	if err != nil {
		return sent, false, err
	}
	m[key] = Entry{UID: m[key].UID, Set: raw, Admitted: applied.Admitted, Assumed: m[key].Assumed}
	return &unstructured.Unstructured{Object: applied.Object}, true, nil
}

// PrivateReader is the private state of a request.
type PrivateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// PrivateWriter is the private state of a response.
type PrivateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// memoryKey is where the memory is kept in a resource's private state.
const memoryKey = "applied"

// LoadMemory reads the memory from private state; empty where there is none.
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

// Load reads a value that Save wrote; the zero value where there is none, or,
// with a warning, where it cannot be read.
func Load[T any](ctx context.Context, private PrivateReader, key string) (T, diag.Diagnostics) {
	var value, none T
	data, diags := private.GetKey(ctx, key)
	if len(data) == 0 {
		return none, diags
	}
	if err := json.Unmarshal(data, &value); err != nil {
		diags.AddWarning("The provider's private state cannot be read", err.Error()+"\n\nWhat the cluster says is used instead.")
		return none, diags
	}
	return value, diags
}

// Save keeps a value in private state, as JSON.
func Save(ctx context.Context, private PrivateWriter, key string, value any) diag.Diagnostics {
	data, err := json.Marshal(value)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("The provider's private state cannot be written", err.Error())}
	}
	return private.SetKey(ctx, key, data)
}
