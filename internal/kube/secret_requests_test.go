package kube

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

const tokenPath = "/api/v1/namespaces/ml/secrets/token"

// secretAPI is a server with the Secret ml/token, or without it.
type secretAPI struct {
	code  int // of writes; 0 for none
	body  any // of writes
	reads int // code of reads

	denied bool // writes

	asked []string // method, query and body of the writes
}

func (s *secretAPI) cluster(t *testing.T) *Cluster {
	t.Helper()
	return clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
		switch {
		case strings.HasSuffix(path, "/selfsubjectaccessreviews"):
			return kubetest.Reviewed(request, func(string) bool { return !s.denied })
		case path != tokenPath:
			t.Errorf("asked for %s %s", verb, path)
		case verb == "get" && s.reads == http.StatusNotFound:
			return s.reads, notFound()
		case verb == "get" && s.reads == http.StatusForbidden:
			return kubetest.Failing(s.reads, metav1.StatusReasonForbidden)
		case verb == "get" && s.reads == http.StatusBadRequest:
			return kubetest.Failing(s.reads, metav1.StatusReasonBadRequest)
		case verb == "get":
			return http.StatusOK, keyedSecret("u", "2", "a")
		}
		body, _ := io.ReadAll(request.Body)
		s.asked = append(s.asked, verb+" "+request.URL.RawQuery+" "+string(body))
		return s.code, s.body
	}})
}

func TestMetadataOfASecretWithoutAnyPermissionIsDenied(t *testing.T) {
	t.Parallel()
	for denied, want := range map[bool]Class{true: Denied, false: Refused} {
		code, body := kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		api := &secretAPI{code: code, body: body, denied: denied}
		_, err := api.cluster(t).API.SecretMetadata(t.Context(), SecretRef("ml", "token"))
		if got := ClassOf(err); got != want {
			t.Errorf("denied %t: class %d, want %d", denied, got, want)
		}
	}
}

func TestMetadataOfASecretNeedsOnlyThePermissionToWrite(t *testing.T) {
	t.Parallel()
	response := map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
		"metadata": map[string]any{"name": "token", "uid": "u"}}
	api := &secretAPI{code: http.StatusOK, body: response}
	live, err := api.cluster(t).API.SecretMetadata(t.Context(), SecretRef("ml", "token"))
	if err != nil || live.GetUID() != "u" || live.GetKind() != "Secret" || live.GetAPIVersion() != "v1" {
		t.Errorf("%v, %v", live, err)
	}
	if want := "patch dryRun=All&fieldManager=terraform-provider-kt {}"; api.asked[0] != want {
		t.Errorf("asked %q, want %q", api.asked[0], want)
	}
	for name, api := range map[string]*secretAPI{
		"another document": {code: http.StatusOK, body: []string{"value"}},
		"a failure":        {code: http.StatusBadRequest, body: metav1.Status{Reason: metav1.StatusReasonBadRequest}},
	} {
		live, err := api.cluster(t).API.SecretMetadata(t.Context(), SecretRef("ml", "token"))
		if live != nil || err == nil || strings.Contains(err.Error(), "value") {
			t.Errorf("%s: %v, %v", name, live, err)
		}
	}
}

func TestSecretIsCreatedLikeOtherObjects(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code    int
		created bool // by a dry run
		exists  bool // by an apply
	}{
		"created": {http.StatusCreated, true, false}, "existing": {http.StatusOK, false, true},
		"rejected": {http.StatusBadRequest, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &secretAPI{code: test.code, body: keyedSecret("u", "2")}
			if test.code == http.StatusBadRequest {
				api.body = metav1.Status{Reason: metav1.StatusReasonBadRequest}
			}
			cluster := api.cluster(t)
			_, created, err := cluster.DryRunNew(t.Context(), keyedSecret("", ""))
			if created != test.created || (err != nil) != (test.code == http.StatusBadRequest) {
				t.Errorf("dry run: created %t, %v", created, err)
			}
			absent, seen := cluster.absences.LoadAndDelete(SecretRef("ml", "token").Key())
			if seen != test.created || !strings.Contains(api.asked[0], "dryRun=All") {
				t.Errorf("observed to be missing at %v, asked %q", absent, api.asked)
			}
			live, err := cluster.ApplyNew(t.Context(), keyedSecret("", ""))
			_, exists := errors.AsType[*ExistsError](err)
			if (live != nil) != test.created || (err == nil) != test.created || exists != test.exists {
				t.Errorf("apply: %v, %v", live, err)
			}
			if last := api.asked[1]; strings.Contains(last, "dryRun") || !strings.Contains(last, "force=false") {
				t.Errorf("asked %q", last)
			}
		})
	}
}

// A lost response to the creation needs no permission to read the Secret.
func TestSecretOfALostCreationIsRecognizedByItsMetadata(t *testing.T) {
	t.Parallel()
	live := MarkUnfinished(keyedSecret("u", "2"), "some")
	live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: Manager, Operation: "Apply", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:kt.dev/unfinished":{}}}}`)}})
	for id, want := range map[string]bool{"some": true, "other": false} {
		api := &secretAPI{code: http.StatusOK, body: live, reads: http.StatusForbidden}
		sent := MarkUnfinished(keyedSecret("", ""), id)
		if got := api.cluster(t).isCreated(t.Context(), SecretRef("ml", "token"), sent); got != want {
			t.Errorf("created by %q: %t", id, got)
		}
	}
}

func TestSecretIsDeletedByItsUIDOnly(t *testing.T) {
	t.Parallel()
	deleted := metav1.Status{Status: metav1.StatusSuccess}
	ref := SecretRef("ml", "token")
	for name, test := range map[string]struct {
		code  int
		body  any
		class Class // of the error, Other for none
	}{
		"deleted":          {http.StatusOK, deleted, Other},
		"with a finalizer": {http.StatusOK, keyedSecret("u", "3", "a"), Other},
		"missing":          {http.StatusNotFound, notFound(), Other},
		"rejected":         {http.StatusBadRequest, metav1.Status{Reason: metav1.StatusReasonBadRequest}, Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &secretAPI{code: test.code, body: test.body}
			err := api.cluster(t).DeleteInBackground(t.Context(), ref, "u")
			if ClassOf(err) != test.class || (err == nil) != (test.class == Other) {
				t.Error(err)
			}
			if len(api.asked) == 0 || !strings.Contains(api.asked[0], `"uid":"u"`) {
				t.Errorf("asked %q", api.asked)
			}
		})
	}
}

func notFound() metav1.Status {
	return metav1.Status{Reason: metav1.StatusReasonNotFound, Details: about("secrets", "", "token")}
}

func TestErrorsContainNoValueOfASecret(t *testing.T) {
	t.Parallel()
	rejected := func(text string) metav1.Status {
		return metav1.Status{Reason: metav1.StatusReasonInvalid, Message: "denied: " + text,
			Details: about("Secret", "", "token", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid,
				Field: "data", Message: "no: " + text})}
	}
	for name, test := range map[string]struct {
		reads int // code of a read
		text  string
		want  string
	}{
		"a value that is sent":               {http.StatusOK, "value of sent", "(hidden)"},
		"a value of the cluster":             {http.StatusOK, "value of a", "(hidden)"},
		"another text":                       {http.StatusOK, "too large", "too large"},
		"a new Secret":                       {http.StatusNotFound, "value of sent", "(hidden)"},
		"text about a new Secret":            {http.StatusNotFound, "too large", "too large"},
		"without permission to read values":  {http.StatusForbidden, "too large", hiddenMessage},
		"the values cannot be read just now": {http.StatusBadRequest, "too large", hiddenMessage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &secretAPI{code: http.StatusUnprocessableEntity, body: rejected(test.text), reads: test.reads}
			_, err := api.cluster(t).Apply(t.Context(), keyedSecret("u", "1", "sent"))
			failure, ok := errors.AsType[*Error](err)
			if !ok || failure.Class != Immutable || len(failure.Fields) != 1 {
				t.Fatalf("%v", err)
			}
			var status interface{ Status() metav1.Status }
			errors.As(failure.Err, &status)
			for what, text := range map[string]string{
				"message": err.Error(), "field": failure.Fields[0].Message,
				"cause": status.Status().Details.Causes[0].Message,
			} {
				if !strings.Contains(text, test.want) || test.text != test.want && strings.Contains(text, test.text) {
					t.Errorf("%s: %q, want %q", what, text, test.want)
				}
			}
		})
	}
}

// Errors of the authorizer and of the storage contain no value, and are helpful.
func TestErrorsAboutNoContentAreShown(t *testing.T) {
	t.Parallel()
	status := notFound()
	status.Message = `secrets "token" not found`
	api := &secretAPI{code: http.StatusNotFound, body: status, reads: http.StatusForbidden}
	_, err := api.cluster(t).Apply(t.Context(), keyedSecret("u", "1", "sent"))
	if err == nil || !strings.Contains(err.Error(), status.Message) {
		t.Errorf("%v", err)
	}
	other := errors.New("connection refused")
	cluster, ref := NewCluster(t.Context(), config.Config{}), SecretRef("ml", "token")
	if err := cluster.API.maskError(t.Context(), ref, other, nil, "patch"); !errors.Is(err, other) {
		t.Errorf("%v", err)
	}
	if err := mapMessages(other, func(string) string { return "" }); !errors.Is(err, other) {
		t.Errorf("%v", err)
	}
}

func TestMissingPermissionForASecretIsNotARejection(t *testing.T) {
	t.Parallel()
	for denied, want := range map[bool]Class{true: Denied, false: Refused} {
		api := &secretAPI{code: http.StatusForbidden, body: metav1.Status{Reason: metav1.StatusReasonForbidden},
			denied: denied}
		_, err := api.cluster(t).Apply(t.Context(), keyedSecret("u", "1", "sent"))
		deleteErr := api.cluster(t).DeleteInBackground(t.Context(), SecretRef("ml", "token"), "u")
		if ClassOf(err) != want || ClassOf(deleteErr) != want {
			t.Errorf("%v, %v; want class %d", err, deleteErr, want)
		}
	}
}

func TestSecretDataIsDecoded(t *testing.T) {
	t.Parallel()
	secret := keyedSecret("u", "1", "a")
	_ = unstructured.SetNestedField(secret.Object, "not base64!", "data", "b")
	data := SecretData(secret)
	if len(data) != 2 || string(data["a"]) != "value of a" || string(data["b"]) != "not base64!" {
		t.Errorf("%q", data)
	}
	if empty := SecretData(nil); empty == nil || len(empty) > 0 {
		t.Errorf("%q", empty)
	}
}

func TestResponseThatIsNoSecretIsNotQuoted(t *testing.T) {
	t.Parallel()
	cluster := clusterOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode([]string{"value"})
	}))
	for _, ref := range []Ref{SecretRef("ml", "token"), trainer()} {
		live, err := cluster.API.Get(t.Context(), ref)
		if err == nil || strings.Contains(err.Error(), "value") {
			t.Errorf("%v, %v", live, err)
		}
	}
}
