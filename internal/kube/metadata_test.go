package kube

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
)

// kubectl apply stores the values of a Secret in an annotation. Nothing else of the metadata contains values, and
// "terraform query" omits Secrets that another object controls.
func TestMetadataOfASecretIsCompleteExceptForForeignAnnotations(t *testing.T) {
	t.Parallel()
	form := metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}
	secret := metav1.PartialObjectMetadata{TypeMeta: form, ObjectMeta: metav1.ObjectMeta{
		Namespace: "ml", Name: "token", UID: "u", ResourceVersion: "7", Labels: map[string]string{"team": "vision"},
		Annotations: map[string]string{
			"kubectl.kubernetes.io/last-applied-configuration": `{"data":{"TOKEN":"c2VjcmV0"}}`,
			UnfinishedAnnotation: "x", CreationAnnotation: "c",
		},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Team", Name: "t", UID: "o", Controller: new(true)}},
		CreationTimestamp: metav1.Unix(1, 0), Finalizers: []string{"example.com/keep"},
	}}
	want := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{
		"namespace": "ml", "name": "token", "uid": "u", "resourceVersion": "7",
		"labels":        map[string]any{"team": "vision"},
		"annotations":   map[string]any{UnfinishedAnnotation: "x", CreationAnnotation: "c"},
		"managedFields": []any{map[string]any{"manager": "kubectl"}},
		"ownerReferences": []any{map[string]any{
			"apiVersion": "v1", "kind": "Team", "name": "t", "uid": "o", "controller": true}},
		"creationTimestamp": "1970-01-01T00:00:01Z", "finalizers": []any{"example.com/keep"},
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !r.URL.Query().Has("watch") {
			_ = json.NewEncoder(w).Encode(metav1.PartialObjectMetadataList{
				TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
				ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "next"},
				Items:    []metav1.PartialObjectMetadata{secret}})
			return
		}
		for _, event := range []map[string]any{
			{"type": watch.Modified, "object": secret},
			{"type": watch.Bookmark, "object": metav1.PartialObjectMetadata{TypeMeta: form,
				ObjectMeta: metav1.ObjectMeta{ResourceVersion: "8",
					Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}},
			{"type": watch.Error, "object": metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Reason: metav1.StatusReasonExpired}},
		} {
			_ = json.NewEncoder(w).Encode(event)
		}
	}))
	defer server.Close()
	cluster := NewCluster(t.Context(), config.Config{Host: server.URL, Namespace: "ml"})
	v, err := cluster.API.lister(Ref{Kind: kind.SecretMetadata(), Namespace: "ml"})
	if err != nil {
		t.Fatal(err)
	}

	list, err := v.List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil || len(list.Items) != 1 || list.GetResourceVersion() != "9" || list.GetContinue() != "next" {
		t.Fatalf("%v, %v", list, err)
	}
	if diff := cmp.Diff(want, list.Items[0].Object); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}

	w, err := v.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if modified, ok := (<-w.ResultChan()).Object.(*unstructured.Unstructured); !ok {
		t.Error("the watch reports no object")
	} else if diff := cmp.Diff(want, modified.Object); diff != "" {
		t.Errorf("watched (-want +got):\n%s", diff)
	}
	bookmark, ok := (<-w.ResultChan()).Object.(*Entry)
	if !ok || bookmark.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("the bookmark %v does not end the initial events", bookmark)
	}
	if status, ok := (<-w.ResultChan()).Object.(*metav1.Status); !ok || status.Reason != metav1.StatusReasonExpired {
		t.Errorf("the error is %v", status)
	}
}

// A server that ignores the requested form may send complete Secrets, and the errors of the decoder quote their input.
func TestErrorsOfAListOfSecretsDoNotQuoteIt(t *testing.T) {
	t.Parallel()
	const secret = `{"metadata": {"namespace": "ml", "name": "token"}, "data": {"TOKEN": "c2VjcmV0"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Has("watch") {
			_, _ = io.WriteString(w, `{"type": "ADDED", "object": `+secret+`}`)
			return
		}
		_, _ = io.WriteString(w, `{"apiVersion": "v1", "metadata": {}, "items": [`+secret+`]}`)
	}))
	defer server.Close()
	cluster := NewCluster(t.Context(), config.Config{Host: server.URL, Namespace: "ml"})
	v, err := cluster.API.lister(Ref{Kind: kind.SecretMetadata(), Namespace: "ml"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = v.List(t.Context(), metav1.ListOptions{}); err == nil || strings.Contains(err.Error(), "c2VjcmV0") {
		t.Errorf("the error of the list is %v", err)
	}
	w, err := v.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if event := <-w.ResultChan(); event.Type != watch.Error || strings.Contains(fmt.Sprint(event.Object), "c2VjcmV0") {
		t.Errorf("the event is %v", event)
	}
}
