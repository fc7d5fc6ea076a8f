package lifecycle_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

func TestResultOfARefreshDeterminesTheState(t *testing.T) {
	t.Parallel()
	denied := &kube.Error{Op: "read", Object: "Service ml/x", Class: kube.Denied, Err: errors.New("forbidden")}
	for name, c := range map[string]struct {
		err             error
		size            string // in the new state, "" if the resource is removed
		refused, warned string // parts of an error and of a warning
	}{
		"found":  {size: "2"},
		"gone":   {err: fmt.Errorf("x: %w", owned.ErrGone)},
		"denied": {err: denied, size: "1", warned: "The state is kept unchanged."},
		"failed": {err: errors.New("no connection"), size: "1", refused: "no connection"},
		"kept with a reason": {
			err: lifecycle.KeepState(errors.New("no answer"), "Size is old."), size: "1", warned: "Size is old.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inCluster(t, "a", &hooks{refresh: func(r *reading) error {
				r.State.Size = types.StringValue("2")
				return c.err
			}})
			resp, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
				TypeName: "kt_thing", CurrentState: s.thing(exists(nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.text(resp.NewState, "size"); got != c.size || s.isNothing(resp.NewState) != (c.size == "") {
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
			for got, want := range map[*strings.Builder]string{&errs: c.refused, &warnings: c.warned} {
				if (got.Len() > 0) != (want != "") || !strings.Contains(got.String(), want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
			wantHome := ""
			if c.err == nil {
				wantHome = `"uid":"a"`
			}
			if got := remembered(t, resp.Private, "cluster"); !strings.Contains(got, wantHome) ||
				wantHome == "" && got != "" {
				t.Errorf("remembered cluster %s, want %s", got, wantHome)
			}
		})
	}
}

func TestPrivateStateIsSavedOnlyIfItChanges(t *testing.T) {
	t.Parallel()
	const odd = `{"visits": 1}` // not as the notes are written
	for name, c := range map[string]struct {
		visits int
		want   string
	}{
		"unchanged": {1, odd},
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
				TypeName: "kt_thing", CurrentState: s.thing(exists(nil)),
				Private: private(t, map[string]string{"notes": odd}),
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := remembered(t, resp.Private, "notes"); got != c.want {
				t.Errorf("the private state is %s, want %s", got, c.want)
			}
		})
	}
}

func TestMemoryIsSavedOnlyIfItChanged(t *testing.T) {
	t.Parallel()
	for _, learned := range []bool{false, true} {
		s := inCluster(t, "a", &hooks{refresh: func(r *reading) error {
			r.Memory["Service/ml/x"] = owned.Entry{UID: "u"}
			r.MemoryChanged = learned
			return nil
		}})
		resp, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
			TypeName: "kt_thing", CurrentState: s.thing(exists(nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(resp.Private), `"applied"`); got != learned {
			t.Errorf("memory changed %t: private state %s", learned, resp.Private)
		}
	}
}

func TestStateWithoutManifestsIsImported(t *testing.T) {
	t.Parallel()
	h := &hooks{}
	s := inCluster(t, "a", h)
	_, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
		TypeName: "kt_thing", CurrentState: s.thing(map[string]any{"name": "x", "namespace": "ml", "id": "ml/x"}),
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
		TypeName: "kt_thing", CurrentState: s.thing(exists(nil)),
	})
	if err != nil || len(resp.Diagnostics) > 0 || len(h.called) > 0 || s.text(resp.NewState, "size") != "1" {
		t.Errorf("called %v, response %+v: %v", h.called, resp, err)
	}
}
