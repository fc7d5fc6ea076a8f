package acctest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Metrics are the APIs from which a HorizontalPodAutoscaler reads: that of metrics-server, and those of an adapter. All
// pods use Value thousandths of a CPU, and every metric except one with the name missing has that value.
type Metrics struct {
	Value atomic.Int64
	pods  func(namespace, selector string) []string
}

// ServeMetrics adds the APIs of metrics to a cluster until the test ends.
func ServeMetrics(t *testing.T, on *Cluster, ns string) *Metrics {
	t.Helper()
	metrics := &Metrics{pods: func(namespace, selector string) []string {
		out, err := on.TryKubectl(t, "get", "pods", "-n", namespace, "-l", selector, "-o",
			"jsonpath={.items[*].metadata.name}")
		if err != nil {
			return nil
		}
		return strings.Fields(out)
	}}
	server := httptest.NewTLSServer(metrics)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	on.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: metrics, namespace: %[1]s}
spec: {type: ExternalName, externalName: localhost, ports: [{port: %[2]s}]}
`, ns, address.Port()))
	for _, api := range []string{"v1beta1.metrics.k8s.io", "v1beta2.custom.metrics.k8s.io",
		"v1beta1.external.metrics.k8s.io"} {
		version, group, _ := strings.Cut(api, ".")
		on.Apply(t, fmt.Sprintf(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: %[1]s}
spec:
  group: %[2]s
  version: %[3]s
  insecureSkipTLSVerify: true
  groupPriorityMinimum: 100
  versionPriority: 100
  service: {name: metrics, namespace: %[4]s, port: %[5]s}
`, api, group, version, ns, address.Port()))
		t.Cleanup(func() { on.Kubectl(t, "delete", "apiservice/"+api) })
		on.Kubectl(t, "wait", "apiservice/"+api, "--for=condition=Available", "--timeout=60s")
	}
	return metrics
}

func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // apis, group, version, and what is requested
	if len(path) < 3 || path[len(path)-1] == "missing" {
		http.NotFound(w, r)
		return
	}
	version, requested := path[1]+"/"+path[2], path[3:]
	response := map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version,
		"resources": []any{
			map[string]any{"name": "any", "namespaced": true, "kind": "Any", "verbs": []string{"get"}}}}
	if len(requested) > 0 {
		response = m.list(path[1], requested, r.URL.Query().Get("labelSelector"))
		response["apiVersion"] = version
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(response)
}

// list returns what the path after the version of an API requests: namespaces, the namespace, and for example pods.
func (m *Metrics) list(group string, requested []string, selector string) map[string]any {
	ns, name, now := requested[1], requested[len(requested)-1], time.Now().UTC().Format(time.RFC3339)
	value := fmt.Sprint(m.Value.Load())
	described := func(kind, name string) map[string]any {
		return map[string]any{"timestamp": now, "value": value, "metric": map[string]any{"name": requested[4]},
			"describedObject": map[string]any{"kind": kind, "namespace": ns, "name": name}}
	}
	var items []any
	switch {
	case group == "external.metrics.k8s.io":
		return map[string]any{"kind": "ExternalMetricValueList", "items": []any{
			map[string]any{"metricName": name, "metricLabels": nil, "timestamp": now, "value": value}}}
	case group == "metrics.k8s.io":
		for _, pod := range m.pods(ns, selector) {
			items = append(items, map[string]any{"metadata": map[string]any{"name": pod, "namespace": ns},
				"timestamp": now, "window": "1s", "containers": []any{
					map[string]any{"name": "kubetorch", "usage": map[string]any{"cpu": value + "m", "memory": "1Mi"}}}})
		}
		return map[string]any{"kind": "PodMetricsList", "items": items}
	case requested[3] == "*":
		for _, pod := range m.pods(ns, selector) {
			items = append(items, described("Pod", pod))
		}
	default:
		items = []any{described("Object", requested[3])}
	}
	return map[string]any{"kind": "MetricValueList", "items": items}
}
