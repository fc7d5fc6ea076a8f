package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"time"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scaling"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/metrics/pkg/apis/external_metrics"
	"k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// metricsAPI serves external metrics from KEDA's scale handler. In a cluster, the metrics adapter of KEDA requests them
// from the operator by gRPC, and the operator calls the same method (pkg/metricsservice/server.go).
type metricsAPI struct{ handler scaling.ScaleHandler }

func (m metricsAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // apis, group, version, namespaces, namespace, metric
	if len(path) == 6 && path[3] == "namespaces" {
		m.serveMetric(w, r, path[4], path[5])
		return
	}
	respond(w, http.StatusOK, &metav1.APIResourceList{ // the API server requires it of an available API
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: v1beta1.SchemeGroupVersion.String(),
		APIResources: []metav1.APIResource{},
	})
}

// serveMetric responds with the values of a metric. Its label selector contains the name of the ScaledObject.
func (m metricsAPI) serveMetric(w http.ResponseWriter, r *http.Request, namespace, name string) {
	selector, err := labels.ConvertSelectorToLabelsMap(r.URL.Query().Get("labelSelector"))
	if err != nil {
		refuse(w, err)
		return
	}
	found, err := m.handler.GetScaledObjectMetrics(r.Context(), selector[kedav1alpha1.ScaledObjectOwnerAnnotation],
		namespace, name)
	if err != nil {
		refuse(w, err)
		return
	}
	respond(w, http.StatusOK, versioned(found))
}

func versioned(found *external_metrics.ExternalMetricValueList) *v1beta1.ExternalMetricValueList {
	list := &v1beta1.ExternalMetricValueList{TypeMeta: metav1.TypeMeta{
		Kind: "ExternalMetricValueList", APIVersion: v1beta1.SchemeGroupVersion.String(),
	}}
	for _, value := range found.Items {
		list.Items = append(list.Items, v1beta1.ExternalMetricValue{MetricName: value.MetricName,
			MetricLabels: value.MetricLabels, Timestamp: value.Timestamp, Value: value.Value})
	}
	return list
}

func refuse(w http.ResponseWriter, err error) {
	respond(w, http.StatusInternalServerError, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Reason: metav1.StatusReasonInternalError, Code: http.StatusInternalServerError, Message: err.Error(),
	})
}

func respond(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// serveMetrics serves the metrics on a free loopback port. The API server forwards requests to it until the manager
// ends.
func serveMetrics(mgr ctrl.Manager, handler scaling.ScaleHandler) error {
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		server := httptest.NewTLSServer(metricsAPI{handler})
		defer server.Close()
		address, err := url.Parse(server.URL)
		if err != nil {
			return err
		}
		port, err := strconv.ParseInt(address.Port(), 10, 32)
		if err != nil {
			return err
		}
		objects := registration(port)
		for _, object := range objects {
			if err := mgr.GetClient().Create(ctx, object); err != nil {
				return err
			}
		}
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		var errs []error
		for _, object := range objects {
			errs = append(errs, mgr.GetClient().Delete(ending, object))
		}
		return errors.Join(errs...)
	}))
}

// registration returns the objects by which the API server finds the API of external metrics at a port of this machine.
func registration(port int64) []*unstructured.Unstructured {
	const service = "keda-metrics"
	return []*unstructured.Unstructured{
		object("v1", "Service", map[string]any{"name": service, "namespace": "default"}, map[string]any{
			"type": "ExternalName", "externalName": "localhost", "ports": []any{map[string]any{"port": port}},
		}),
		object("apiregistration.k8s.io/v1", "APIService", map[string]any{
			"name": v1beta1.SchemeGroupVersion.Version + "." + v1beta1.SchemeGroupVersion.Group,
		}, map[string]any{
			"group": v1beta1.SchemeGroupVersion.Group, "version": v1beta1.SchemeGroupVersion.Version,
			"groupPriorityMinimum": int64(100), "versionPriority": int64(100), "insecureSkipTLSVerify": true,
			"service": map[string]any{"name": service, "namespace": "default", "port": port},
		}),
	}
}

func object(apiVersion, kind string, metadata, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": metadata, "spec": spec,
	}}
}
