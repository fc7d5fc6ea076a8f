package manager

import (
	"context"
	"net/http"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// markerLabel selects the objects that test whether the API server has loaded a
// webhook configuration. They are only created as a dry run. A configuration
// has no status, but the API server loads it as a unit: if it calls one
// webhook, all are active. The end-to-end tests of Kubernetes do the same.
const markerLabel = "ecosystem.kt.dev/marker"

// markerName is the name of the webhook in its configuration.
const markerName = "marker.ecosystem.kt.dev"

type marker struct {
	name   string // name of the configuration
	called *atomic.Bool
}

func newMarker(configuration string) marker { return marker{configuration, &atomic.Bool{}} }

func (m marker) path() string { return "/marker/" + m.name }

// addTo adds the webhook to the configuration.
func (m marker) addTo(configuration *unstructured.Unstructured, url func(path string) string, ca []byte) error {
	hooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return err
	}
	hooks = append(hooks, map[string]any{
		"name":                    markerName,
		"clientConfig":            clientConfig(url(m.path()), ca),
		"objectSelector":          map[string]any{"matchLabels": map[string]any{markerLabel: m.name}},
		"admissionReviewVersions": []any{"v1"},
		"failurePolicy":           "Ignore",
		"sideEffects":             "None",
		"rules": []any{map[string]any{
			"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"},
			"resources": []any{"configmaps"},
		}},
	})
	return unstructured.SetNestedSlice(configuration.Object, hooks, "webhooks")
}

// handler records the call and allows every request.
func (m marker) handler() http.Handler {
	allow := func(context.Context, admission.Request) admission.Response {
		m.called.Store(true)
		return admission.Allowed("")
	}
	return &admission.Webhook{Handler: admission.HandlerFunc(allow)}
}

// call sends a request that matches the webhook, and returns whether the
// webhook has been called.
func (m marker) call(ctx context.Context, client dynamic.Interface) (bool, error) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "marker", "labels": map[string]any{markerLabel: m.name}},
	}}
	configMaps := client.Resource(schema.GroupVersionResource{Version: "v1",
		Resource: "configmaps"}).Namespace(metav1.NamespaceDefault)
	_, err := configMaps.Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return m.called.Load(), err
}
