package lifecycle_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// update applies an update of the size, with private state.
func (s *server) update(changes map[string]any, privateState map[string]string) *tfprotov6.ApplyResourceChangeResponse {
	s.t.Helper()
	plan, config := inState(changes), inState(changes)
	config["id"], config["uid"], config["manifests"] = nil, nil, nil
	resp, err := s.ApplyResourceChange(s.t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: "kt_thing", PriorState: s.value(inState(nil)), PlannedState: s.value(plan), Config: s.value(config),
		PlannedPrivate: private(s.t, privateState)})
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// remove applies a destruction.
func (s *server) remove(prior map[string]any, privateState map[string]string) *tfprotov6.ApplyResourceChangeResponse {
	s.t.Helper()
	resp, err := s.ApplyResourceChange(s.t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: "kt_thing", PriorState: s.value(prior), PlannedState: s.null(), Config: s.null(),
		PlannedPrivate: private(s.t, privateState)})
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// limits returns the attribute timeouts with one limit.
func limits(operation, limit string) map[string]tftypes.Value {
	out := map[string]tftypes.Value{}
	for _, name := range []string{"create", "update", "delete"} {
		out[name] = tftypes.NewValue(tftypes.String, nil)
	}
	out[operation] = tftypes.NewValue(tftypes.String, limit)
	return out
}

// within reports whether the deadline of a context is that of a limit that began at a time.
func within(ctx context.Context, began time.Time, limit time.Duration) bool {
	deadline, _ := ctx.Deadline()
	return !deadline.Before(began.Add(limit)) && !deadline.After(time.Now().Add(limit))
}

func TestUpdateHasTheMemoryAndTheClusterOfTheResource(t *testing.T) {
	t.Parallel()
	began := time.Now()
	h := &hooks{apply: func(ctx context.Context, w *writing) {
		if w.Creating || w.Memory["Service/ml/x"].UID != "u" || w.PrivateState.Visits != 7 ||
			!w.RecordedCluster.Confirmed() || !w.Creation.PerObject || w.Creation.ID != "ml/x" ||
			w.Prior.Size.ValueString() != "1" || w.Plan.Size.ValueString() != "2" ||
			w.Config.Size.ValueString() != "2" ||
			!within(ctx, began, applyTime+waitTimeout) {
			t.Errorf("writing %+v", w)
		}
		w.Memory["Service/ml/x"], w.PrivateState.Visits = owned.Entry{UID: "v"}, 8
		w.Save(ctx)
	}}
	values := remembered()
	values["cluster"], values["moved"] = `{"uid":"a"}`, `{"from":"kubernetes_service"}`
	resp := inCluster(t, "a", h).update(map[string]any{"size": "2"}, values)
	if len(resp.Diagnostics) > 0 || privateValue(t, resp.Private, "notes") != `{"visits":8}` ||
		!strings.Contains(privateValue(t, resp.Private, "applied"), `"uid":"v"`) ||
		privateValue(t, resp.Private, "moved") != "" || resp.NewIdentity == nil {
		t.Errorf("%v, private state %s", resp.Diagnostics, resp.Private)
	}
}

func TestFailedUpdateKeepsThePriorState(t *testing.T) {
	t.Parallel()
	s := inCluster(t, "a", &hooks{apply: func(ctx context.Context, w *writing) {
		w.SaveAs(ctx, w.Prior)
		w.Diags.AddError("Rejected", "")
	}})
	moved := `{"from":"kubernetes_service"}` // the next plan must not replace the object either
	resp := s.update(map[string]any{"size": "2"}, map[string]string{"moved": moved})
	if errorSummary(t, resp.Diagnostics) != "Rejected" || s.text(resp.NewState, "size") != "1" ||
		privateValue(t, resp.Private, "moved") != moved {
		t.Errorf("size %s, %v, private state %s", s.text(resp.NewState, "size"), resp.Diagnostics, resp.Private)
	}
}

func TestTimeLimitsOfUpdatesAndDeletions(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var ok []bool
	h := &hooks{
		apply:  func(ctx context.Context, w *writing) { ok = append(ok, within(ctx, began, 3*time.Hour)); w.Save(ctx) },
		remove: func(ctx context.Context, _ *deleting) { ok = append(ok, within(ctx, began, 3*time.Hour)) },
	}
	s := inCluster(t, "a", h)
	s.update(map[string]any{"timeouts": limits("update", "3h")}, nil)
	s.remove(inState(map[string]any{"timeouts": limits("delete", "3h")}), nil)
	h.remove = func(ctx context.Context, _ *deleting) { ok = append(ok, within(ctx, began, deleteTime)) }
	s.remove(inState(nil), nil)
	if !slices.Equal(ok, []bool{true, true, true}) {
		t.Errorf("limits %v", ok)
	}
	before := len(h.called)
	for name, diags := range map[string][]*tfprotov6.Diagnostic{
		"create": s.create(map[string]any{"timeouts": limits("create", "soon")}).Diagnostics,
		"update": s.update(map[string]any{"timeouts": limits("update", "soon")}, nil).Diagnostics,
		"delete": s.remove(inState(map[string]any{"timeouts": limits("delete", "soon")}), nil).Diagnostics,
	} {
		if errorSummary(t, diags) == "" {
			t.Errorf("%s with an invalid limit: %v", name, diags)
		}
	}
	if len(h.called) > before {
		t.Errorf("called %v", h.called[before:])
	}
}

func TestDeletionHasTheMemoryAndTheClusterOfTheResource(t *testing.T) {
	t.Parallel()
	h := &hooks{remove: func(_ context.Context, d *deleting) {
		if d.Memory["Service/ml/x"].UID != "u" || d.PrivateState.Visits != 7 || !d.RecordedCluster.Confirmed() ||
			d.State.Size.ValueString() != "1" || !d.DestroyRequested {
			t.Errorf("deleting %+v", d)
		}
		d.Diags.AddWarning("Noted", "")
	}}
	values := remembered()
	values["cluster"], values["destroy"] = `{"uid":"a"}`, "true"
	resp := inCluster(t, "a", h).remove(inState(nil), values)
	if len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Summary != "Noted" ||
		!slices.Equal(h.called, []string{"delete"}) {
		t.Errorf("called %v, %v", h.called, resp.Diagnostics)
	}
}

// unapplied is the attribute manifests of an object of another client that was imported.
func unapplied(extra string) map[string]tftypes.Value {
	return map[string]tftypes.Value{"Service/ml/x": tftypes.NewValue(tftypes.String,
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"x","namespace":"ml"`+extra+`}`)}
}

// Terraform replaces a tainted resource without a plan of its deletion, and without its private state.
func TestObjectThatWasNeverAppliedIsNotDeletedWithoutAPlan(t *testing.T) {
	t.Parallel()
	const rejected = "A tainted thing is not replaced"
	planned := map[string]string{"destroy": "true"}
	for name, c := range map[string]struct {
		manifests any
		private   map[string]string
		want      string
	}{
		"without a plan":              {unapplied("}"), nil, rejected},
		"with a plan":                 {unapplied("}"), planned, ""},
		"an applied object":           {unapplied("}"), remembered(), ""},
		"it has a spec":               {unapplied(`},"spec":{}`), nil, ""},
		"it has labels":               {unapplied(`,"labels":{}}`), nil, ""},
		"no objects":                  {map[string]tftypes.Value{}, nil, ""},
		"the plan says otherwise":     {unapplied("}"), map[string]string{"destroy": "false"}, rejected},
		"an empty memory is no entry": {unapplied("}"), map[string]string{"applied": "{}"}, rejected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hooks{}
			s := inCluster(t, "a", h)
			resp := s.remove(inState(map[string]any{"manifests": c.manifests}), c.private)
			if got := errorSummary(t, resp.Diagnostics); got != c.want || (len(h.called) > 0) != (c.want == "") {
				t.Errorf("called %v, %q, want %q", h.called, got, c.want)
			}
			if c.want != "" && !strings.Contains(resp.Diagnostics[0].Detail, "Service ml/x was moved") {
				t.Errorf("%s", resp.Diagnostics[0].Detail)
			}
		})
	}
}

// An action before the destruction has failed, which Terraform ignores.
func TestHeldResourceIsNotDeleted(t *testing.T) {
	t.Parallel()
	h := &hooks{}
	data := dataAt(t, kubetest.NewServer(t).URL)
	s := configured(t, data, h)
	if err := data.Holds.Add("kt_thing", "ml/x", "The checkpoint failed."); err != nil {
		t.Fatal(err)
	}
	resp := s.remove(inState(nil), nil)
	if errorSummary(t, resp.Diagnostics) != "Not destroyed: ml/x" || len(h.called) > 0 ||
		resp.Diagnostics[0].Detail != "The checkpoint failed." {
		t.Errorf("called %v, %v", h.called, resp.Diagnostics)
	}
	other := s.remove(inState(map[string]any{"name": "y", "id": "ml/y"}), nil)
	if len(other.Diagnostics) > 0 || !slices.Equal(h.called, []string{"delete"}) {
		t.Errorf("called %v, %v", h.called, other.Diagnostics)
	}
	if reason := data.Holds.Reason("kt_other", "ml/x"); reason != "" {
		t.Errorf("another resource is held: %s", reason)
	}
}

func TestUnknownNamespaceIsResolvedByTheCreation(t *testing.T) {
	t.Parallel()
	changes := map[string]any{"namespace": tftypes.UnknownValue, "id": tftypes.UnknownValue}
	save := func(ctx context.Context, w *writing) { complete(w); w.Save(ctx) }
	s := inCluster(t, "a", &hooks{apply: save})
	resp := s.create(changes)
	if len(resp.Diagnostics) > 0 || s.text(resp.NewState, "id") != "ml/x" ||
		s.text(resp.NewState, "namespace") != "ml" ||
		resp.NewIdentity == nil {
		t.Errorf("%v, %v", resp.Diagnostics, resp.NewState)
	}
	h := &hooks{apply: save}
	failed := misconfigured(t, h).create(changes)
	if errorSummary(t, failed.Diagnostics) == "" || len(h.called) > 0 {
		t.Errorf("called %v, %v", h.called, failed.Diagnostics)
	}
}

// Otherwise, the next run would take the objects of a finished resource over.
func TestCreatedAndUpdatedObjectsAreCompleted(t *testing.T) {
	t.Parallel()
	api := kubetest.NewServer(t)
	completions := run.NewCompletions(func() bool { return true })
	data := &tf.ProviderData{Run: run.New(t.Context(), clusterAt(t, api.URL), completions)}
	var saved bool
	s := configured(t, data, &hooks{apply: func(ctx context.Context, w *writing) {
		obj := kind.Service().Named("ml", w.Plan.Size.ValueString())
		if _, _, err := owned.Create(ctx, w.Data.Run, w.Memory, w.Creation, obj); err != nil {
			t.Error(err)
		}
		if saved {
			complete(w)
			w.Save(ctx)
		}
	}})
	unfinished := func(name string) bool {
		completions.Flush(t.Context())
		return api.Object("/api/v1/namespaces/ml/services/" + name).GetAnnotations()[kube.UnfinishedAnnotation] != ""
	}
	if s.create(map[string]any{"size": "lost"}); !unfinished("lost") {
		t.Error("the object of a creation without state is finished")
	}
	saved = true
	if s.create(map[string]any{"size": "created"}); unfinished("created") {
		t.Error("the object of a creation is unfinished")
	}
	if s.update(map[string]any{"size": "updated"}, nil); unfinished("updated") {
		t.Error("the object that an update added is unfinished")
	}
}

func TestUnreadablePrivateStateIsReportedByAnApply(t *testing.T) {
	t.Parallel()
	broken := map[string]string{"applied": "[1]", "notes": "[1]", "destroy": "[1]", "cluster": "[1]", "ignored": "[1]"}
	h := &hooks{apply: func(ctx context.Context, w *writing) { w.Save(ctx) }}
	s := inCluster(t, "a", h)
	if resp := s.update(nil, broken); len(resp.Diagnostics) != 4 || errorSummary(t, resp.Diagnostics) != "" {
		t.Errorf("update: %v", resp.Diagnostics)
	}
	if resp := s.remove(inState(nil), broken); len(resp.Diagnostics) != 4 || errorSummary(t, resp.Diagnostics) != "" {
		t.Errorf("deletion: %v", resp.Diagnostics)
	}
}

// read refreshes a resource with private state.
func (s *server) read(state map[string]any, privateState map[string]string) *tfprotov6.ReadResourceResponse {
	s.t.Helper()
	resp, err := s.ReadResource(s.t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "kt_thing",
		CurrentState: s.value(state), Private: private(s.t, privateState)})
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

func TestRefreshReportsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	h := &hooks{refresh: func(r *reading) error {
		r.Diags.AddWarning("Noted", "")
		return nil
	}}
	resp := inCluster(t, "a", h).read(inState(nil), map[string]string{"applied": "[1]", "notes": "[1]", "moved": "[1]"})
	if len(resp.Diagnostics) != 4 || errorSummary(t, resp.Diagnostics) != "" || resp.NewIdentity == nil {
		t.Errorf("%v", resp.Diagnostics)
	}
}

func TestRefreshFindsObjectsInTheirCluster(t *testing.T) {
	t.Parallel()
	api := kubetest.NewServer(t)
	service := kind.Service().Named("ml", "x")
	live := api.Apply(t, kube.Manager, service)
	widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "x", "namespace": "ml"}}}
	for name, c := range map[string]struct {
		obj     *unstructured.Unstructured
		uid     string
		cluster string
		gone    bool
		failed  bool
		warned  string
	}{
		"the object":     {obj: service, uid: string(live.GetUID())},
		"another object": {obj: service, uid: "other", gone: true, warned: "was replaced"},
		"a missing object": {obj: kind.Service().Named("ml", "y"), uid: "u", gone: true,
			warned: "was deleted"},
		"a kind that was removed": {obj: widget, cluster: kubetest.ClusterUID, gone: true,
			warned: "was deleted with its"},
		"a kind that the cluster never had":    {obj: widget, failed: true},
		"a kind that another cluster may have": {obj: widget, cluster: "", failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := dataAt(t, api.URL)
			s := configured(t, data, &hooks{refresh: func(r *reading) error {
				ref, found, err := r.FindObject(t.Context(), c.obj)
				if ref.Name == "" || (found != nil) != (err == nil) {
					t.Errorf("%v, %v, %v", ref, found, err)
				}
				return err
			}})
			values := map[string]string{"applied": fmt.Sprintf(`{"%s/ml/%s": {"uid": %q}}`, c.obj.GetKind(),
				c.obj.GetName(), c.uid)}
			if c.cluster != "" {
				values["cluster"] = `{"uid":"` + c.cluster + `"}`
			}
			resp := s.read(inState(nil), values)
			if got := privateValue(t, resp.Private, "applied"); !c.gone && got != values["applied"] {
				t.Errorf("the memory was saved again: %s", got)
			}
			if s.isNull(resp.NewState) != c.gone || (errorSummary(t, resp.Diagnostics) != "") != c.failed {
				t.Errorf("%+v", resp)
			}
			if c.warned != "" && (len(resp.Diagnostics) != 1 ||
				!strings.Contains(resp.Diagnostics[0].Summary, c.warned)) {
				t.Errorf("%v, want %q", resp.Diagnostics, c.warned)
			}
		})
	}
}
