package kube

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// metadataOf is a client whose only object is secret.
type metadataOf struct {
	metadata.ResourceInterface

	secret metav1.PartialObjectMetadata
	events *watch.FakeWatcher
}

func (m metadataOf) List(context.Context, metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "next"},
		Items: []metav1.PartialObjectMetadata{m.secret}}, nil
}

func (m metadataOf) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return m.events, nil
}

// kubectl apply stores the values of a Secret in an annotation. Nothing else of the metadata contains values, and
// "terraform query" omits Secrets that another object controls.
func TestMetadataOfASecretIsCompleteExceptForForeignAnnotations(t *testing.T) {
	t.Parallel()
	secret := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
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
	of := metadataOf{secret: secret, events: watch.NewFakeWithChanSize(3, false)}
	v := versions{of, kind.Secret().GroupVersionKind}

	list, err := v.List(t.Context(), metav1.ListOptions{})
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
	of.events.Modify(&secret)
	of.events.Action(watch.Bookmark, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: "8", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}})
	of.events.Error(&metav1.Status{Reason: metav1.StatusReasonExpired})
	if modified, ok := (<-w.ResultChan()).Object.(*unstructured.Unstructured); !ok {
		t.Error("the watch reports no object")
	} else if diff := cmp.Diff(want, modified.Object); diff != "" {
		t.Errorf("watched (-want +got):\n%s", diff)
	}
	bookmark, ok := (<-w.ResultChan()).Object.(*unstructured.Unstructured)
	if !ok || bookmark.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("the bookmark %v does not end the initial events", bookmark)
	}
	if status, ok := (<-w.ResultChan()).Object.(*metav1.Status); !ok || status.Reason != metav1.StatusReasonExpired {
		t.Errorf("the error is %v", status)
	}
}
