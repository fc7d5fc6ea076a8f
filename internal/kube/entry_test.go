package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
)

// A watch keeps the JSON of the server, and decodes it when an object is read.
func TestWatchKeepsTheObjectsAsTheServerSendsThem(t *testing.T) {
	t.Parallel()
	const object = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a","namespace":"ml","uid":"u",` +
		`"resourceVersion":"7","labels":{"team":"vision"},"annotations":{"note":"x"}},` +
		`"spec":{"replicas":3,"paused":false}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", object)
		fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":`+
			`{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
		fmt.Fprintln(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","reason":"Expired","code":410}}`)
		fmt.Fprintln(w, `{"type":"ADDED","object":[]}`)
	}))
	defer server.Close()
	cluster := NewCluster(t.Context(), config.Config{Host: server.URL, Namespace: "ml"})
	deployments, err := cluster.API.lister(Ref{Kind: kind.Deployment(), Namespace: "ml"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := deployments.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()

	added := (<-w.ResultChan()).Object.(*Entry)
	if string(added.json) != object || added.Name != "a" || added.Namespace != "ml" || added.UID != "u" ||
		added.ResourceVersion != "7" || added.Labels["team"] != "vision" {
		t.Errorf("added %+v: %s", added.ObjectMeta, added.json)
	}
	obj, err := added.Object()
	if err != nil || obj.Object["spec"].(map[string]any)["replicas"] != int64(3) {
		t.Errorf("the object is %v, %v", obj, err)
	}
	shared, err := decodeAs[unstructured.Unstructured](added)
	if again, _ := decodeAs[unstructured.Unstructured](added); err != nil || shared != again ||
		!reflect.DeepEqual(shared, obj) || shared == obj {
		t.Errorf("the shared object is %v, %v, and then %v", shared, err, again)
	}
	decoded, gvk, err := entryDecoder{}.Decode([]byte(object), nil, nil)
	if err != nil || *gvk != obj.GroupVersionKind() || !reflect.DeepEqual(decoded, &Entry{ObjectMeta: added.ObjectMeta,
		json: added.json}) {
		t.Errorf("decoded %v as %v, %v", decoded, gvk, err)
	}
	bookmark := (<-w.ResultChan()).Object.(*Entry)
	if bookmark.ResourceVersion != "8" || bookmark.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("the bookmark %+v does not end the initial events", bookmark.ObjectMeta)
	}
	if status, ok := (<-w.ResultChan()).Object.(*metav1.Status); !ok || status.Reason != metav1.StatusReasonExpired {
		t.Errorf("the error is %v", status)
	}
	if event := <-w.ResultChan(); event.Type != watch.Error {
		t.Errorf("an object that is a list is %v", event)
	}
}
