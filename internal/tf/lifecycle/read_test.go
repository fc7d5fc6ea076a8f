package lifecycle_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

func TestResultOfARefreshDeterminesTheState(t *testing.T) {
	t.Parallel()
	service := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}
	denied := &kube.Error{Op: "read", Ref: service, Class: kube.Denied, Err: errors.New("forbidden")}
	for name, c := range map[string]struct {
		err            error
		size           string // in the new state, "" if the resource is removed
		failed, warned string // parts of an error and of a warning
	}{
		"found":                   {size: "2"},
		"gone":                    {err: fmt.Errorf("x: %w", owned.ErrGone)},
		"denied":                  {err: denied, size: "1", failed: "No permission to read Service ml/x"},
		"failed":                  {err: errors.New("no connection"), size: "1", failed: "no connection"},
		"kept with a consequence": {err: lifecycle.ErrKept, size: "1", warned: "Size is old."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inCluster(t, "a", &hooks{refresh: func(r *reading) error {
				r.State.Size = types.StringValue("2")
				if errors.Is(c.err, lifecycle.ErrKept) {
					r.Diags.AddWarning("No response", "Size is old.")
				}
				return c.err
			}})
			resp, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
				TypeName: "kt_thing", CurrentState: s.value(inState(nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.text(resp.NewState, "size"); got != c.size || s.isNull(resp.NewState) != (c.size == "") {
				t.Errorf("size %q, want %q", got, c.size)
			}
			var errs, warnings strings.Builder
			for _, d := range resp.Diagnostics {
				into := &errs
				if d.Severity == tfprotov6.DiagnosticSeverityWarning {
					into = &warnings
				}
				fmt.Fprintln(into, d.Summary, d.Detail)
			}
			for got, want := range map[*strings.Builder]string{&errs: c.failed, &warnings: c.warned} {
				if (got.Len() > 0) != (want != "") || !strings.Contains(got.String(), want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
			wantCluster := ""
			if c.err == nil {
				wantCluster = `"uid":"a"`
			}
			if got := privateValue(t, resp.Private, "cluster"); !strings.Contains(got, wantCluster) ||
				wantCluster == "" && got != "" {
				t.Errorf("saved cluster %s, want %s", got, wantCluster)
			}
		})
	}
}

func TestPrivateStateIsSavedOnlyIfItChanges(t *testing.T) {
	t.Parallel()
	const formatted = `{"visits": 1}` // formatted differently than by the provider
	for name, c := range map[string]struct {
		visits int
		want   string
	}{
		"unchanged": {1, formatted},
		"changed":   {2, `{"visits":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inCluster(t, "a", &hooks{refresh: func(r *reading) error {
				if r.PrivateState.Visits != 1 {
					t.Errorf("the private state is %+v", r.PrivateState)
				}
				r.PrivateState.Visits = c.visits
				return nil
			}})
			resp, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
				TypeName: "kt_thing", CurrentState: s.value(inState(nil)),
				Private: private(t, map[string]string{"notes": formatted}),
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := privateValue(t, resp.Private, "notes"); got != c.want {
				t.Errorf("the private state is %s, want %s", got, c.want)
			}
		})
	}
}

func TestMemoryIsSavedOnlyIfItChanged(t *testing.T) {
	t.Parallel()
	for _, changed := range []bool{false, true} {
		s := inCluster(t, "a", &hooks{refresh: func(r *reading) error {
			if changed {
				r.Memory["Service/ml/x"] = owned.Entry{UID: "u"}
			}
			return nil
		}})
		resp, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
			TypeName: "kt_thing", CurrentState: s.value(inState(nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(resp.Private), `"applied"`); got != changed {
			t.Errorf("memory changed %t: private state %s", changed, resp.Private)
		}
	}
}

func TestStateWithoutManifestsIsImported(t *testing.T) {
	t.Parallel()
	h := &hooks{}
	s := inCluster(t, "a", h)
	_, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
		TypeName: "kt_thing", CurrentState: s.value(map[string]any{"name": "x", "namespace": "ml", "id": "ml/x"}),
	})
	if err != nil || !slices.Equal(h.called, []string{"import"}) {
		t.Errorf("called %v: %v", h.called, err)
	}
}

func TestStateIsKeptWhileTheClusterIsUnknown(t *testing.T) {
	t.Parallel()
	h := &hooks{}
	s := configured(t, &tf.ProviderData{Unknown: true}, h)
	resp, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
		TypeName: "kt_thing", CurrentState: s.value(inState(nil)),
	})
	if err != nil || len(resp.Diagnostics) > 0 || len(h.called) > 0 || s.text(resp.NewState, "size") != "1" {
		t.Errorf("called %v, response %+v: %v", h.called, resp, err)
	}
}

// Without permission to read the identity of the cluster, a missing object may be in another one.
func TestAMissingObjectStaysInStateIfTheClusterIsDoubtful(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"", "https://before:6443"} {
		s := inCluster(t, "a", &hooks{refresh: func(*reading) error { return owned.ErrGone }})
		resp := s.read(inState(nil), map[string]string{"cluster": fmt.Sprintf(`{"server":%q}`, server)})
		if doubtful := server != ""; s.isNull(resp.NewState) == doubtful ||
			(errorSummary(t, resp.Diagnostics) != "") != doubtful {
			t.Errorf("%q: removed %t, %v", server, s.isNull(resp.NewState), resp.Diagnostics)
		}
	}
}
