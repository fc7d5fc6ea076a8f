package compute

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// privateKey is where the memory is kept in the resource's private state.
const privateKey = "applied"

// memory is what the provider remembers of its own writes, by manifest.Key.
// It tells a value that somebody changed from one that the server only writes
// another way, and a field that somebody took from us from one we never had.
type memory map[string]remembered

type remembered struct {
	UID      types.UID       `json:"uid,omitempty"`
	Set      json.RawMessage `json:"set"` // FieldsV1
	Admitted map[string]any  `json:"admitted,omitempty"`
}

// remember notes what the server made of an object that we sent. The result
// lists fields that admission has set to another value than the one sent.
func (m memory) remember(key string, sent, response *unstructured.Unstructured) ([]string, error) {
	set, ok, err := fields.Owned(response, kube.Manager)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s: the server did not record which fields are ours: %w", key, err)
	}
	return m.note(key, sent, response, set)
}

// note is remember for a set of fields that need not be what the server says.
func (m memory) note(key string, sent, response *unstructured.Unstructured, set *fieldpath.Set) ([]string, error) {
	applied, rewritten := fields.Admit(sent.Object, response, set)
	raw, err := fields.Format(set)
	if err != nil {
		return nil, err
	}
	m[key] = remembered{UID: response.GetUID(), Set: raw, Admitted: applied.Admitted}
	return rewritten, nil
}

// foreign says that an object was imported and never applied: no field of it is ours.
func (m memory) foreign(key string) bool {
	set, err := fields.Parse(m[key].Set)
	return err == nil && set.Empty()
}

// recall restores the memory of one object; ok is false where there is none.
func (m memory) recall(key string, sent *unstructured.Unstructured) (applied fields.Applied, ok bool, err error) {
	r, ok := m[key]
	if !ok {
		return fields.Applied{}, false, nil
	}
	set, err := fields.Parse(r.Set)
	return fields.Applied{Object: sent.Object, Set: set, Admitted: r.Admitted}, err == nil, err
}

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

func loadMemory(ctx context.Context, private privateReader) (memory, diag.Diagnostics) {
	m := memory{}
	data, diags := private.GetKey(ctx, privateKey)
	if len(data) > 0 {
		if err := json.Unmarshal(data, &m); err != nil {
			diags.AddWarning("The provider's private state cannot be read", err.Error()+"\n\nOwnership is taken from the cluster instead.")
		}
	}
	return m, diags
}

func (m memory) save(ctx context.Context, private privateWriter) diag.Diagnostics {
	data, err := json.Marshal(m)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("The provider's private state cannot be written", err.Error())}
	}
	return private.SetKey(ctx, privateKey, data)
}

// notesKey is where the notes are kept in the resource's private state.
const notesKey = "notes"

// notes are what the provider remembers of a compute as a whole.
type notes struct {
	// Designed is the number of replicas that the workload was rendered for;
	// at least one. Somebody else may scale it since, and ignore_changes keep that.
	Designed int64 `json:"designed,omitempty"`
	// Unready says that the last wait for readiness failed: the next plan waits again.
	Unready bool `json:"unready,omitempty"`
	// Ending says that the workload was being deleted when it was last looked at.
	Ending bool `json:"ending,omitempty"`
}

func loadNotes(ctx context.Context, private privateReader) (notes, diag.Diagnostics) {
	var n notes
	data, diags := private.GetKey(ctx, notesKey)
	if len(data) > 0 {
		if err := json.Unmarshal(data, &n); err != nil {
			diags.AddWarning("The provider's private state cannot be read", err.Error())
		}
	}
	return n, diags
}

func (n notes) save(ctx context.Context, private privateWriter) diag.Diagnostics {
	data, err := json.Marshal(n)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("The provider's private state cannot be written", err.Error())}
	}
	return private.SetKey(ctx, notesKey, data)
}

// designedFor is the number of replicas to render for. A number that the plan
// leaves as the cluster has it is not one that the configuration asks for.
func (n notes) designedFor(plan, state *model) int64 {
	if n.Designed > 0 && plan.Replicas.Equal(state.Replicas) {
		return n.Designed
	}
	return max(1, plan.Replicas.ValueInt64())
}
