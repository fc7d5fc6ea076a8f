package lifecycle_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

const servicePath = "/api/v1/namespaces/ml/services/x"

// serviceWith returns the Service ml/x with a value of a field.
func serviceWith(value string) *unstructured.Unstructured {
	obj := kind.Service().Named("ml", "x")
	obj.Object["data"] = map[string]any{"k": value}
	return obj
}

func valueOf(obj *unstructured.Unstructured) string {
	if obj == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(obj.Object, "data", "k")
	return value
}

// An update must neither change another object with the same name nor create one.
func TestUpdateReachesOnlyTheObjectInState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		exists, inState bool
		uid             string // in state; "live" for that of the object
		sent            bool
		value           string // of the object after the update
	}{
		"the object in state":            {true, true, "live", true, "new"},
		"another object":                 {true, true, "other", false, "old"},
		"a deleted object":               {false, true, "other", false, ""},
		"an object whose UID is unknown": {true, true, "", true, "new"},
		"a new object":                   {false, false, "", true, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := kubetest.NewServer(t)
			if c.exists {
				if live := api.Apply(t, kube.Manager, serviceWith("old")); c.uid == "live" {
					c.uid = string(live.GetUID())
				}
			}
			s := configured(t, dataAt(t, api.URL), &hooks{apply: func(ctx context.Context, w *writing) {
				obj := serviceWith("new")
				live, _, err := w.Send(ctx, obj, c.inState)
				if (err == nil) != c.sent || (live != nil) != c.sent || obj.GetUID() != "" {
					t.Errorf("%v, error %v; the object was given the UID %q", live, err, obj.GetUID())
				}
				w.Save(ctx)
			}})
			memory := map[string]string{}
			if c.uid != "" {
				memory["applied"] = `{"Service/ml/x":{"uid":"` + c.uid + `"}}`
			}
			if resp := s.update(nil, memory); len(resp.Diagnostics) > 0 {
				t.Error(resp.Diagnostics)
			}
			after := api.Object(servicePath)
			if got := valueOf(after); got != c.value {
				t.Errorf("the object is %q, want %q", got, c.value)
			}
			if after != nil && (after.GetAnnotations()[kube.CreationAnnotation] == "") != c.exists {
				t.Errorf("the object has the annotations %v", after.GetAnnotations())
			}
		})
	}
}

func TestFinalReadEndsAfterAnInterruption(t *testing.T) {
	t.Parallel()
	api := kubetest.NewServer(t)
	api.Apply(t, kube.Manager, serviceWith("a"))
	s := configured(t, dataAt(t, api.URL), &hooks{apply: func(ctx context.Context, w *writing) {
		interrupted, interrupt := context.WithCancel(ctx)
		interrupt()
		ref := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}
		if live, err := w.ReadNow(interrupted, ref); err != nil || valueOf(live) != "a" {
			t.Errorf("%v, %v", live, err)
		}
		w.Save(ctx)
	}})
	s.update(nil, nil)
}

func TestDryRunOfAPlanReportsWhatItFinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		manager  string // of the existing object; "" for none
		creating bool
		inState  bool
		fault    kubetest.Fault // of the dry run
		after    string
		severity string // of the diagnostic; "" for none
		summary  string // part of it
	}{
		"a new object":              {creating: true, after: "new"},
		"a new object of an update": {after: "new"},
		"a new object with a name of others": {manager: "kubectl", creating: true, severity: "ERROR",
			summary: "was not created by"},
		"an added object with such a name": {manager: "kubectl", severity: "ERROR", summary: "was not created by"},
		"an object in state":               {manager: kube.Manager, inState: true, after: "new"},
		"a rejected object": {creating: true, fault: kubetest.Status(403, metav1.StatusReasonForbidden),
			severity: "ERROR"},
		"an immutable field": {manager: kube.Manager, inState: true, fault: immutable},
		"no response in the plan of a creation": {creating: true, fault: kubetest.HangUp(true, false),
			severity: "WARNING"},
		"no response in the plan of an update": {manager: kube.Manager, inState: true,
			fault: kubetest.HangUp(true, false), severity: "ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := kubetest.NewServer(t)
			if c.manager != "" {
				api.Apply(t, c.manager, serviceWith("old"))
			}
			api.Intercept = func(verb, _ string) kubetest.Fault {
				if verb == "dry-run" {
					return c.fault
				}
				return nil
			}
			s := configured(t, dataAt(t, api.URL), &hooks{plan: func(p *planning) {
				if !c.creating {
					p.Plan.UID, p.Plan.Manifests = p.State.UID, p.State.Manifests
				}
				if got := p.DryRun(t.Context(), serviceWith("new"), c.inState, ""); valueOf(got.After) != c.after {
					t.Errorf("after the dry run: %q, %v; want %q", valueOf(got.After), got.Err, c.after)
				}
			}})
			config := map[string]any{"name": "x", "size": "1"}
			var resp *tfprotov6.PlanResourceChangeResponse
			if c.creating {
				resp = s.planned(nil, config, nil)
			} else {
				resp = s.planned(inState(nil), config, nil)
			}
			var got, summary string
			for _, d := range resp.Diagnostics {
				got, summary = got+d.Severity.String(), d.Summary
			}
			if got != c.severity || !strings.Contains(summary, c.summary) {
				t.Errorf("%s %q, want %s %q", got, summary, c.severity, c.summary)
			}
		})
	}
}

// immutable responds that the object has an immutable field, which changes.
func immutable(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeForbidden,
			Field: "spec.clusterIP", Message: "field is immutable"}}}})
}

// The new objects of a plan are those of one creation, of which only the first one is new or from an interrupted run.
func TestDryRunsOfAPlanAreThoseOfOneCreation(t *testing.T) {
	t.Parallel()
	named := func(name string) *unstructured.Unstructured {
		obj := serviceWith("v")
		obj.SetName(name)
		return obj
	}
	for name, c := range map[string]struct {
		first    *unstructured.Unstructured // existing
		rejected bool                       // the second object, which exists
	}{
		"after a new object":          {nil, true},
		"after an interrupted object": {kube.MarkUnfinished(named("first"), "some"), false},
	} {
		api := kubetest.NewServer(t)
		if c.first != nil {
			api.Apply(t, kube.Manager, c.first)
		}
		api.Apply(t, kube.Manager, named("second"))
		s := configured(t, dataAt(t, api.URL), &hooks{plan: func(p *planning) {
			if first := p.DryRun(t.Context(), named("first"), false, ""); first.Err != nil {
				t.Errorf("%s: %v", name, first.Err)
			}
			if second := p.DryRun(t.Context(), named("second"), false, ""); (second.Err != nil) != c.rejected {
				t.Errorf("%s: %v", name, second.Err)
			}
		}})
		s.planned(nil, map[string]any{"name": "x", "size": "1"}, nil)
	}
}

func TestPlanWarnsOfRemovedFieldsThatOthersApply(t *testing.T) {
	t.Parallel()
	for _, others := range []bool{false, true} {
		api := kubetest.NewServer(t)
		before := serviceWith("v")
		before.SetLabels(map[string]string{"team": "ml"})
		api.Apply(t, kube.Manager, before)
		if others {
			api.Apply(t, "argo", before)
		}
		s := configured(t, dataAt(t, api.URL), &hooks{plan: func(p *planning) {
			p.Plan.UID, p.Plan.Manifests = p.State.UID, p.State.Manifests
			p.DryRun(t.Context(), serviceWith("v"), true, "")
		}})
		resp := s.planned(inState(nil), map[string]any{"name": "x", "size": "1"}, map[string]string{"applied": `{` +
			`"Service/ml/x":{"set":{"f:metadata":{"f:labels":{"f:team":{}}},"f:data":{"f:k":{}}}}}`})
		if got := len(resp.Diagnostics) == 1 && resp.Diagnostics[0].Severity == tfprotov6.DiagnosticSeverityWarning &&
			strings.Contains(resp.Diagnostics[0].Summary, "keeps fields that the plan removes"); got != others {
			t.Errorf("another manager applies them: %t: %v", others, resp.Diagnostics)
		}
	}
}

func TestPlanKeepsImportedObjectsThatAnApplyWouldNotChange(t *testing.T) {
	t.Parallel()
	const set = `{"f:data":{"f:k":{},"f:empty":{},"f:map":{}}}` // the map is atomic
	object := func(data string) string {
		return `{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"ml","name":"x"},"data":` + data + `}`
	}
	for name, c := range map[string]struct {
		prior, planned string // data
		imported       bool
		live           string // data
		fault          kubetest.Fault
		kept, failed   bool
	}{
		"equal": {prior: `{"k":"a"}`, planned: `{"k":"a","empty":""}`, imported: true, kept: true},
		"equal, but applied since the import": {
			prior: `{"k":"a"}`, planned: `{"k":"a","empty":""}`},
		"changed": {prior: `{"k":"a"}`, planned: `{"k":"b"}`, imported: true},
		"only the dry run shows no change": {prior: `{"map":{"a":"1","b":"2"}}`, planned: `{"map":{"a":"1"}}`,
			imported: true, live: `{"map":{"a":"1"}}`, kept: true},
		"only the dry run shows a change": {prior: `{"map":{"a":"1","b":"2"}}`, planned: `{"map":{"a":"1"}}`,
			imported: true, live: `{"map":{"a":"1","b":"2"}}`},
		"the dry run is rejected": {prior: `{"map":{"a":"1","b":"2"}}`, planned: `{"map":{"a":"1"}}`,
			imported: true, live: `{"map":{"a":"1"}}`, fault: kubetest.Status(403, metav1.StatusReasonForbidden)},
		"the dry run has no response": {prior: `{"map":{"a":"1","b":"2"}}`, planned: `{"map":{"a":"1"}}`,
			imported: true, live: `{"map":{"a":"1"}}`, fault: kubetest.HangUp(true, false), failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := kubetest.NewServer(t)
			objectOf := func(data string) *owned.Object {
				obj, err := owned.ParseObject("Service/ml/x", object(data))
				if err != nil {
					t.Fatal(err)
				}
				return obj
			}
			if c.live != "" {
				api.Apply(t, kube.Manager, objectOf(c.live).Content)
			}
			api.Intercept = func(verb, _ string) kubetest.Fault {
				if verb == "dry-run" {
					return c.fault
				}
				return nil
			}
			s := configured(t, dataAt(t, api.URL), &hooks{plan: func(p *planning) {
				p.Plan.UID, p.Plan.Manifests = p.State.UID, p.State.Manifests
				var imported []string
				if c.imported {
					imported = []string{"Service/ml/x"}
				}
				prior, planned := objectOf(c.prior), objectOf(c.planned)
				got := p.PreserveObjects(t.Context(), owned.Objects{planned.Key: planned},
					owned.Objects{prior.Key: prior}, imported)
				if kept := got[prior.Key] == prior; kept != c.kept || len(got) != 1 {
					t.Errorf("the object in state is kept: %t, %v", kept, got)
				}
			}})
			resp := s.planned(inState(nil), map[string]any{"name": "x", "size": "1"},
				map[string]string{"applied": `{"Service/ml/x":{"set":` + set + `}}`})
			if (errorSummary(t, resp.Diagnostics) != "") != c.failed {
				t.Errorf("%v", resp.Diagnostics)
			}
		})
	}
}

// failingPrivate is private state that cannot be written.
type failingPrivate struct{}

func (failingPrivate) SetKey(context.Context, string, []byte) diag.Diagnostics {
	return diag.Diagnostics{diag.NewErrorDiagnostic("Cannot save", "")}
}

func TestPrivateStateThatAnApplyCannotSaveIsReported(t *testing.T) {
	t.Parallel()
	s := inCluster(t, "a", &hooks{apply: func(ctx context.Context, w *writing) {
		w.Private = failingPrivate{}
		w.Save(ctx)
	}})
	resp := s.update(nil, nil)
	if len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Summary != "Cannot save" {
		t.Errorf("%v", resp.Diagnostics)
	}
}
