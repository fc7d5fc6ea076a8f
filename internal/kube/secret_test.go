package kube

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// keyedSecret returns the Secret ml/token with a value for each key.
func keyedSecret(uid types.UID, version string, keys ...string) *unstructured.Unstructured {
	secret := aSecret()
	secret.SetUID(uid)
	secret.SetResourceVersion(version)
	data := map[string]any{}
	for _, key := range keys {
		data[key] = base64.StdEncoding.EncodeToString([]byte("value of " + key))
	}
	secret.Object["data"] = data
	return secret
}

func TestRemovalOfKeysRetriesAfterAConflict(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		there   *unstructured.Unstructured // what the server has by then
		code    int                        // of a read
		patches int
		class   Class // of the error, Other for none
		version string
	}{
		"an earlier attempt succeeded": {keyedSecret("u", "3", "b"), http.StatusOK, 1, Other, "3"},
		"another client changed it":    {keyedSecret("u", "3", "a", "b"), http.StatusOK, 2, Other, "4"},
		"another Secret has its name":  {keyedSecret("v", "3", "a", "b"), http.StatusOK, 1, Conflict, ""},
		"it was deleted":               {nil, http.StatusNotFound, 1, NotFound, ""},
		"it may not be read":           {nil, http.StatusForbidden, 1, Conflict, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patches := 0 // requests come one after another
			cluster := clusterOf(t, kubetest.API{Answer: func(verb, _ string, request *http.Request) (int, any) {
				switch {
				case verb == "get" && test.code == http.StatusNotFound:
					return test.code, metav1.Status{Reason: metav1.StatusReasonNotFound,
						Details: about("secrets", "", "token")}
				case verb == "get" && test.code == http.StatusForbidden:
					return kubetest.Failing(test.code, metav1.StatusReasonForbidden)
				case verb == "get":
					return test.code, test.there
				}
				patches++
				var sent struct {
					Metadata metav1.ObjectMeta  `json:"metadata"`
					Data     map[string]*string `json:"data"`
				}
				_ = json.NewDecoder(request.Body).Decode(&sent)
				value, named := sent.Data["a"]
				switch {
				case !named || value != nil || sent.Metadata.UID != "u":
					t.Errorf("the patch is %+v", sent)
				case test.there == nil || sent.Metadata.ResourceVersion != test.there.GetResourceVersion():
					return kubetest.Failing(http.StatusConflict, metav1.StatusReasonConflict)
				}
				return http.StatusOK, keyedSecret("u", "4", "b")
			}})
			live, err := cluster.RemoveSecretKeys(t.Context(), keyedSecret("u", "2", "a", "b"), []string{"a"})
			switch {
			case (err == nil) != (test.class == Other) || ClassOf(err) != test.class || patches != test.patches:
				t.Errorf("after %d patches: %v", patches, err)
			case err == nil && (live.GetResourceVersion() != test.version || hasAnyKey(live, []string{"a"})):
				t.Errorf("it is at version %s with the keys %v", live.GetResourceVersion(), SecretData(live))
			}
		})
	}
}
