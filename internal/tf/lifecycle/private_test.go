package lifecycle

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// readOnly is private state with one value for all keys, which cannot be written.
type readOnly string

func (r readOnly) GetKey(context.Context, string) ([]byte, diag.Diagnostics) { return []byte(r), nil }

func (readOnly) SetKey(_ context.Context, key string, _ []byte) diag.Diagnostics {
	return diag.Diagnostics{diag.NewErrorDiagnostic("Cannot save "+key, "")}
}

func TestPrivateStateThatAPlanCannotSaveIsReported(t *testing.T) {
	t.Parallel()
	for saved, failed := range map[readOnly]bool{"": true, "false": true, "true": false} {
		private := privateData{saved, saved}
		if diags := saveChanged(t.Context(), private, destroyKey, true); diags.HasError() != failed {
			t.Errorf("%q becomes true: %v", saved, diags)
		}
		if diags := saveChanged(t.Context(), private, destroyKey, false); diags.HasError() == failed {
			t.Errorf("%q becomes false: %v", saved, diags)
		}
	}
	p := &Planning[struct{ Common }, int]{private: privateData{readOnly(""), readOnly("")}}
	p.SavePrivateState(t.Context())
	p.SetDestroyRequested(t.Context(), true)
	if len(p.Diags) != 2 {
		t.Errorf("%v", p.Diags)
	}
}
