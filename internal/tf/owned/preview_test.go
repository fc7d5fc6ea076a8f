package owned

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// immutable makes the server reject every dry run because of an immutable field.
func (r *testRun) immutable() {
	r.Intercept = func(verb, _ string) kubetest.Fault {
		if verb != "dry-run" {
			return nil
		}
		return func(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
				Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "invalid",
				Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeForbidden,
					Field: "data", Message: "field is immutable"}}},
			})
		}
	}
}

// heldBy makes every object one of a resource in state.
func heldBy(resource string) func(types.UID) string {
	return func(types.UID) string { return resource }
}

func TestPreviewShowsWhatAnApplyWouldDo(t *testing.T) {
	t.Parallel()
	obj := configMap("a", "k", "new")
	for name, c := range map[string]struct {
		existing  *unstructured.Unstructured
		manager   string
		creation  *Creation
		replaced  types.UID // "live" for the UID of the existing object
		immutable bool
		deleted   bool // its deletion has begun
		failing   int  // status of the response to a dry run
		after     string
		rejected  string // part of the error
		class     kube.Class
		dryRun    bool
	}{
		"a new object": {creation: creation(), after: "new", dryRun: true},
		"an object in state": {existing: configMap("a", "k", "old"), manager: somebody, after: "new",
			dryRun: true},
		"an adopted object": {existing: configMap("a", "k", "old"), manager: somebody,
			creation: &Creation{Adopt: true}, after: "new", dryRun: true},
		"an object of another client": {existing: configMap("a", "k", "old"), manager: somebody,
			creation: creation(), rejected: "was not created by this provider", dryRun: true},
		"an object of an interrupted creation": {existing: kube.MarkUnfinished(configMap("a", "k", "old"), "some"),
			manager: kube.Manager, creation: creation(), after: "new", dryRun: true},
		"a replaced object": {existing: configMap("a", "k", "old"), manager: kube.Manager, creation: creation(),
			replaced: "live"},
		"another object than the replaced one": {existing: configMap("a", "k", "old"), manager: somebody,
			creation: creation(), replaced: "other", rejected: "was not created", dryRun: true},
		"an immutable field": {existing: configMap("a", "k", "old"), manager: kube.Manager, immutable: true,
			rejected: "ConfigMap ml/a: invalid", class: kube.Immutable, dryRun: true},
		"an immutable field of a tainted resource": {existing: configMap("a", "k", "old"), manager: kube.Manager,
			immutable: true, creation: &Creation{Type: "kt_thing", ID: "ml/x", HeldBy: heldBy("kt_thing ml/x")},
			dryRun: true},
		"an immutable field of an object that is being deleted": {existing: configMap("a", "k", "old"),
			manager: kube.Manager, immutable: true, deleted: true, creation: creation(), dryRun: true},
		"an immutable field of an adopted object that is being deleted": {existing: configMap("a", "k", "old"),
			manager: somebody, immutable: true, deleted: true, creation: &Creation{Adopt: true}, dryRun: true},
		"an immutable field of an object in state that is being deleted": {existing: configMap("a", "k", "old"),
			manager: kube.Manager, immutable: true, deleted: true, rejected: "ConfigMap ml/a: invalid",
			class: kube.Immutable, dryRun: true},
		"an immutable field of an adopted object": {existing: configMap("a", "k", "old"), manager: somebody,
			immutable: true, creation: &Creation{Type: "kt_thing", ID: "ml/x", Adopt: true,
				HeldBy: heldBy("kt_thing ml/y")},
			rejected: "ConfigMap ml/a: invalid", class: kube.Immutable, dryRun: true},
		"a rejection by admission": {creation: creation(), failing: http.StatusForbidden, rejected: "made up",
			class: kube.Refused, dryRun: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t)
			if c.existing != nil {
				live := r.Server.Apply(t, c.manager, c.existing)
				if c.deleted {
					terminating(live)
					r.Put(mapPath+"a", live)
				}
				if c.replaced == "live" {
					c.replaced = live.GetUID()
				}
			}
			switch {
			case c.immutable:
				r.immutable()
			case c.failing != 0:
				r.fails("dry-run", "", c.failing)
			}
			got := noMemory.Preview(t.Context(), r.Cluster, obj, c.creation, c.replaced)
			after := ""
			if got.After != nil {
				after, _, _ = unstructured.NestedString(got.After.Object, "data", "k")
			}
			if after != c.after || got.Ref.Name != "a" || (len(r.Requests("dry-run")) > 0) != c.dryRun {
				t.Errorf("after %q, want %q; %v, requests %v", after, c.after, got.Ref, r.Requests("dry-run"))
			}
			if (got.Err != nil) != (c.rejected != "") || got.Err != nil &&
				!strings.Contains(got.Err.Error(), c.rejected) {
				t.Errorf("error %v, want %q", got.Err, c.rejected)
			}
			for _, class := range []kube.Class{kube.Immutable, kube.Refused, kube.Unreachable} {
				if got.Is(class) != (c.class == class) {
					t.Errorf("forecast %+v: %v is %t", got, class, got.Is(class))
				}
			}
			if got.Unreachable() {
				t.Errorf("forecast %+v", got)
			}
			if r.Object(mapPath+"a") != nil && c.existing == nil || c.after != "" && c.existing == nil &&
				len(r.Requests("get")) > 0 {
				t.Errorf("the preview of a new object sends %v", r.Requests("get"))
			}
		})
	}
}

// noMemory is that of a resource without objects.
var noMemory Memory

// An apply without the annotation of the creation also removes the annotations that admission has added.
func TestPreviewOfAnObjectInStateKeepsItsCreation(t *testing.T) {
	t.Parallel()
	r, memory := newRun(t), Memory{}
	live := r.mustCreate(t, memory, configMap("a"))
	got := memory.Preview(t.Context(), r.Cluster, configMap("a"), nil, "")
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	id := live.GetAnnotations()[kube.CreationAnnotation]
	if after := got.After.GetAnnotations()[kube.CreationAnnotation]; id == "" || after != id {
		t.Errorf("the creation is %q after the dry run, want %q", after, id)
	}
}

// The later objects are admitted only after the first one.
func TestReplacedObjectCountsAsTheFirstOne(t *testing.T) {
	t.Parallel()
	r, one := newRun(t), creation()
	replaced := r.Server.Apply(t, kube.Manager, configMap("a"))
	noMemory.Preview(t.Context(), r.Cluster, configMap("a"), one, replaced.GetUID())
	r.Server.Apply(t, kube.Manager, kube.MarkUnfinished(configMap("b"), "some"))
	r.Server.Apply(t, kube.Manager, configMap("c"))
	if got := noMemory.Preview(t.Context(), r.Cluster, configMap("b"), one, ""); got.Err != nil {
		t.Error(got.Err)
	}
	if got := noMemory.Preview(t.Context(), r.Cluster, configMap("c"), one, ""); got.Err == nil {
		t.Error("an object of another resource is admitted after one that was not the first")
	}
	if got := noMemory.Preview(t.Context(), r.Cluster, configMap("a"), nil, replaced.GetUID()); got.Err != nil {
		t.Error(got.Err)
	}
	for name, c := range map[string]func(*Creation){
		"the first one is new": func(one *Creation) {
			noMemory.Preview(t.Context(), r.Cluster, configMap("new"), one, "")
		},
		"the first one is only looked up": func(one *Creation) {
			PreviewOwner(t.Context(), r.Cluster, refOf(t, configMap("new")), one)
		},
	} {
		one := creation()
		c(one)
		noMemory.Preview(t.Context(), r.Cluster, configMap("b"), one, "")
		if got := noMemory.Preview(t.Context(), r.Cluster, configMap("c"), one, ""); got.Err == nil {
			t.Errorf("%s: an object of another resource is admitted", name)
		}
	}
}

func TestPreviewOfAnUnknownObjectChecksItsOwner(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.Server.Apply(t, somebody, configMap("a"))
	ref := refOf(t, configMap("a"))
	if got := PreviewOwner(t.Context(), r.Cluster, ref, creation()); got.Err == nil || got.Ref.Name != "a" {
		t.Errorf("an object of another client: %+v", got)
	}
	got := PreviewOwner(t.Context(), r.Cluster, ref, &Creation{Adopt: true})
	if got.Err != nil || got.Ref.Name != "a" {
		t.Errorf("an adopted object: %+v", got)
	}
	if got := PreviewOwner(t.Context(), r.Cluster, refOf(t, configMap("b")), creation()); got.Err != nil {
		t.Errorf("a missing object: %+v", got)
	}
	r.fails("get", "/a", http.StatusForbidden)
	got = PreviewOwner(t.Context(), r.Cluster, ref, creation())
	if kube.ClassOf(got.Err) != kube.Denied {
		t.Errorf("an object that cannot be read: %+v", got)
	}
	got = noMemory.Preview(t.Context(), r.Cluster, custom(), creation(), "u")
	if kube.ClassOf(got.Err) != kube.KindMissing {
		t.Errorf("a kind that the cluster does not have: %+v", got)
	}
}

func TestRejectedPreviewIsAnErrorUnlessTheApplyMaySucceed(t *testing.T) {
	t.Parallel()
	ref := refOf(t, configMap("a"))
	failed := func(class kube.Class) Forecast {
		return Forecast{Ref: ref, Err: &kube.Error{Op: "apply", Ref: ref, Class: class, Err: errors.New("made up")}}
	}
	const none, warning, failure = "", "Warning", "Error"
	for name, c := range map[string]struct {
		forecast        Forecast
		creating, known bool
		severity        string
		detail          string
		unreachable     bool
	}{
		"accepted": {forecast: Forecast{Ref: ref}, severity: none},
		"an immutable field of an object in state": {forecast: failed(kube.Immutable), known: true,
			severity: none},
		"an immutable field of another object": {forecast: failed(kube.Immutable), severity: failure,
			detail: "The configuration changes an immutable field of it. apply ConfigMap ml/a: made up"},
		"a missing namespace": {forecast: failed(kube.NamespaceMissing), severity: warning,
			detail: "may create what is missing"},
		"a missing kind": {forecast: failed(kube.KindMissing), severity: warning, detail: "may create what is missing"},
		"no permission":  {forecast: failed(kube.Denied), severity: warning, detail: "may reject the objects at apply"},
		"no connection for a creation": {forecast: failed(kube.Unreachable), creating: true, severity: warning,
			detail: "The apply requires the cluster", unreachable: true},
		"no connection for an update": {forecast: failed(kube.Unreachable), severity: failure, unreachable: true},
		"no configuration for a creation": {forecast: failed(kube.Misconfigured), creating: true, severity: warning,
			detail: "The apply requires the cluster", unreachable: true},
		"no configuration for an update": {forecast: failed(kube.Misconfigured), severity: failure, unreachable: true},
		"no credentials": {forecast: failed(kube.Unauthorized), creating: true, severity: failure,
			unreachable: true},
		"rejected pods of an accepted object": {forecast: failed(kube.PodsRefused), severity: warning,
			detail: "Knative checks the pods only in a dry run"},
		"a rejection by admission": {forecast: failed(kube.Refused), creating: true, severity: failure},
		"an invalid field":         {forecast: failed(kube.Invalid), creating: true, severity: failure},
		"an interruption": {forecast: Forecast{Ref: ref, Err: &kube.Error{Class: kube.Canceled, Err: context.Canceled}},
			severity: failure},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.forecast.Unreachable() != c.unreachable {
				t.Errorf("unreachable: %t", c.forecast.Unreachable())
			}
			diags := c.forecast.Diagnostics(c.creating, c.known)
			if len(diags) != map[string]int{none: 0, warning: 1, failure: 1}[c.severity] {
				t.Fatalf("%v", diags)
			}
			for _, d := range diags {
				if d.Severity().String() != c.severity || !strings.Contains(d.Detail(), c.detail) {
					t.Errorf("%s: %s\n%s", d.Severity(), d.Summary(), d.Detail())
				}
			}
		})
	}
}
