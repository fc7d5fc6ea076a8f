package owned

import (
	"net/http"
	"path"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// replace previews an object that replaces one with its name, and returns the names in the dry runs.
func (r *testRun) replace(t *testing.T, obj *unstructured.Unstructured) (names string, got Forecast) {
	t.Helper()
	before := r.Server.Apply(t, kube.Manager, obj)
	got = noMemory.Preview(t.Context(), r.Cluster, obj, creation(), before.GetUID())
	var all []string
	for _, request := range r.Requests("dry-run") {
		all = append(all, path.Base(request))
	}
	return strings.Join(all, " "), got
}

// Policies may require a prefix, and which characters a name has.
func TestReplacementIsCheckedUnderAFreeNameOfTheSameForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		name       string
		taken      string // names of others
		unreadable string
		want       string
	}{
		"a letter":                   {"trainer", "", "", "trainea"},
		"a letter, the first one":    {"data", "", "", "datb"},
		"one letter":                 {"a", "", "", "b"},
		"a digit":                    {"trainer-1", "", "", "trainer-0"},
		"a digit, the first one":     {"trainer-0", "", "", "trainer-1"},
		"a taken name":               {"trainer", "trainea", "", "traineb"},
		"a name that cannot be read": {"trainer", "trainea", "traineb", "traineb"},
		"only one digit is left":     {"n5", "n0 n1 n2 n3 n4 n6 n7 n8", "", "n9"},
		"all names are taken":        {"n5", "n0 n1 n2 n3 n4 n6 n7 n8 n9", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t)
			for taken := range strings.FieldsSeq(c.taken) {
				r.Server.Apply(t, somebody, kind.Deployment().Named("ml", taken))
			}
			if c.unreadable != "" {
				r.fails("get", "/"+c.unreadable, http.StatusForbidden)
			}
			sent, got := r.replace(t, kind.Deployment().Named("ml", c.name))
			if sent != c.want || got.Err != nil || got.Ref.Name != c.name {
				t.Errorf("checked as %q, want %q: %+v", sent, c.want, got)
			}
		})
	}
}

func TestOnlyRejectedReplacementsAreErrors(t *testing.T) {
	t.Parallel()
	const forbidden, malformed = metav1.StatusReasonForbidden, metav1.StatusReasonBadRequest
	for name, c := range map[string]struct {
		code    int
		reason  metav1.StatusReason
		message string
		want    string // part of the error; "" for none
		class   kube.Class
	}{
		"by a policy": {http.StatusForbidden, forbidden, `deployments "trainea" is forbidden: no`,
			`deployments "trainer" is forbidden: no`, kube.Refused},
		"as invalid": {http.StatusBadRequest, malformed, `"trainea": spec is bad`, `"trainer": spec is bad`,
			kube.Invalid},
		"with a similar word": {http.StatusForbidden, forbidden, `denied: trainea is not traineable`,
			"trainer is not traineable", kube.Refused},
		"by a quota, which also counts the old object": {http.StatusForbidden, forbidden,
			"exceeded quota: team, requested: pods=1", "", 0},
		"by no response of the API server": {http.StatusInternalServerError, metav1.StatusReasonInternalError,
			"made up", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t)
			r.Intercept = func(verb, _ string) kubetest.Fault {
				if verb == "dry-run" {
					return kubetest.StatusWith(c.code, c.reason, c.message)
				}
				return nil
			}
			_, got := r.replace(t, kind.Deployment().Named("ml", "trainer"))
			if (got.Err != nil) != (c.want != "") || got.Err != nil &&
				(!strings.Contains(got.Err.Error(), c.want) || !got.Is(c.class) ||
					!strings.Contains(got.Err.Error(), "Deployment ml/trainer")) {
				t.Errorf("error %v, want %q", got.Err, c.want)
			}
		})
	}
}

// The names of the revisions of a Knative Service start with its name, which a dry run under another name violates.
func TestReplacementIsCheckedUnlessItsNameOccursInIt(t *testing.T) {
	t.Parallel()
	named := func(obj *unstructured.Unstructured, name string) *unstructured.Unstructured {
		obj.Object["spec"] = map[string]any{"template": map[string]any{"metadata": map[string]any{"name": name}}}
		return obj
	}
	knative := func(revision string) *unstructured.Unstructured {
		of, _ := kind.Of(schema.GroupKind{Group: kind.KnativeGroup, Kind: "Service"})
		return named(of.Named("ml", "trainer"), revision)
	}
	for name, c := range map[string]struct {
		obj  *unstructured.Unstructured
		want string
	}{
		"no workload":                       {configMap("trainer"), ""},
		"a Knative Service":                 {knative(""), "trainea"},
		"a Knative Service with a revision": {knative("trainer-1"), ""},
		"a Deployment with the name of a pod": {named(kind.Deployment().Named("ml", "trainer"), "trainer-1"),
			"trainea"},
	} {
		if sent, got := newRun(t).replace(t, c.obj); sent != c.want || got.Err != nil {
			t.Errorf("%s: checked as %q, want %q: %v", name, sent, c.want, got.Err)
		}
	}
}
