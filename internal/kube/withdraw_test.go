package kube

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// metAt returns the object of another client that an apply met, with a field that nobody manages or not.
func metAt(secret, unmanaged bool) *ExistsError {
	live := kubetest.Deployment("5", 0)
	ref := trainer()
	if secret {
		live, ref = aSecret(), SecretRef("ml", "token")
		live.SetResourceVersion("5")
	}
	sent := live.DeepCopy()
	sent.Object = map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "ml"}}}
	labels := map[string]string{"team": "ml"}
	if unmanaged {
		labels["old"] = "x"
	}
	live.SetLabels(labels)
	entry := func(manager string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:team":{}}}}`)}
	}
	live.SetManagedFields([]metav1.ManagedFieldsEntry{entry(Manager), entry("kubectl")})
	return &ExistsError{Ref: ref, Sent: sent, Live: live}
}

func TestFieldsWrittenIntoAnObjectOfAnotherClientAreWithdrawn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		secret, unmanaged bool
		refuse            string // the request that fails
		want              []string
		fails             string
	}{
		"nothing else is lost":             {want: []string{"dry run", "apply"}},
		"nothing else of a Secret is lost": {secret: true, want: []string{"dry run", "apply"}},
		"another field would be lost": {unmanaged: true, want: []string{"dry run", "records"},
			fails: "fields without a manager"},
		"another field of a Secret would be lost": {secret: true, unmanaged: true, want: []string{"dry run", "records"},
			fails: "fields without a manager"},
		"the server refuses the dry run": {refuse: "dry run", want: []string{"dry run", "records"},
			fails: "fields without a manager"},
		"the server refuses the apply": {refuse: "apply", want: []string{"dry run", "apply"}, fails: "not allowed"},
		"the server refuses the records": {unmanaged: true, refuse: "records", want: []string{"dry run", "records"},
			fails: "not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := metAt(test.secret, test.unmanaged)
			var asked []string
			cluster := clusterOf(t, kubetest.API{Answer: func(verb, _ string, request *http.Request) (int, any) {
				if verb != "patch" {
					return http.StatusOK, found.Live // for the masks of the values
				}
				body, _ := io.ReadAll(request.Body)
				what := "records"
				if query := request.URL.Query(); request.Header.Get("Content-Type") == "application/apply-patch+yaml" {
					what = "apply"
					if query.Get("dryRun") != "" {
						what = "dry run"
					}
					checkEmptyApply(t, body, query.Get("force"))
				} else {
					checkRecords(t, body)
				}
				asked = append(asked, what)
				if what == test.refuse {
					return http.StatusBadRequest, metav1.Status{Reason: metav1.StatusReasonBadRequest,
						Message: "not allowed"}
				}
				after := found.Live.DeepCopy()
				after.SetLabels(nil)
				after.SetResourceVersion("6")
				return http.StatusOK, after
			}})
			err := cluster.Withdraw(t.Context(), found)
			if diff := cmp.Diff(test.want, slices.Compact(asked)); diff != "" {
				t.Errorf("requests (-want +got)\n%s", diff)
			}
			if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("ended with %v, want %q", err, test.fails)
			}
		})
	}
}

// checkEmptyApply checks that an apply contains nothing but the identity of this object.
func checkEmptyApply(t *testing.T, body []byte, force string) {
	t.Helper()
	sent := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &sent.Object); err != nil || sent.GetUID() != "u" || len(sent.Object) != 3 ||
		force != "true" {
		t.Errorf("applied %s with force %s, %v", body, force, err)
	}
}

// checkRecords checks that a patch of this version removes the entry of the provider only.
func checkRecords(t *testing.T, body []byte) {
	t.Helper()
	if text := string(body); strings.Contains(text, Manager) || !strings.Contains(text, `"manager":"kubectl"`) ||
		!strings.Contains(text, `"path":"/metadata/resourceVersion","value":"5"`) {
		t.Errorf("patched %s", body)
	}
}

func TestRecordsWithoutTheProviderAreLeftAlone(t *testing.T) {
	t.Parallel()
	live := metAt(false, false).Live
	others, changed, err := recordsOfOthers(live)
	if err != nil || !changed || len(others) != 1 || others[0].Manager != "kubectl" {
		t.Errorf("%v, %t, %v", others, changed, err)
	}
	live.SetManagedFields(others)
	if others, changed, err := recordsOfOthers(live); err != nil || changed || len(others) != 1 {
		t.Errorf("again: %v, %t, %v", others, changed, err)
	}
}
