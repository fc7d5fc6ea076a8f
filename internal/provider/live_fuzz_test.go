package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// FuzzImportAndRefresh imports and refreshes each resource from an API server that returns the same arbitrary object, or
// text, at every path. No response may cause a panic, or an error of the protocol.
func FuzzImportAndRefresh(f *testing.F) {
	ids := map[string]string{"kt_compute": "ml/trainer", "kt_volume": "ml/trainer", "kt_secret": "ml/trainer",
		"kt_image": "ml/trainer", "kt_queue": "trainer"}
	for _, seed := range []string{
		live("apps/v1", "Deployment", `{"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata":
			{"labels": {"a": "b"}}, "spec": {"containers": [{"name": "kubetorch", "image": "a", "ports":
			[{"containerPort": 32300}], "resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "1"}}}]}}}`),
		live("v1", "PersistentVolumeClaim", `{"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage":
			"1Gi"}}, "storageClassName": "nfs", "volumeName": "v"}`),
		live("kueue.x-k8s.io/v1beta2", "ClusterQueue", `{"namespaceSelector": {}, "resourceGroups": [{"coveredResources":
			["cpu"], "flavors": [{"name": "a", "resources": [{"name": "cpu", "nominalQuota": "1"}]}]}]}`),
		`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "trainer", "namespace": "ml", "uid": "u",
			"resourceVersion": "1"}, "type": "Opaque", "data": {"a": "YQ=="}}`,
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "trainer", "namespace": "ml", "uid": "u",
			"resourceVersion": "1"}, "data": {"Dockerfile": "FROM a", "setup.sh": "true"}}`,
		"null", "[]", "{}", `{"kind": "Status", "status": "Failure", "code": 500}`,
		live("apps/v1", "Deployment", `{"replicas": 1e300, "selector": {"matchLabels": {"a": "b"}}, "template": {"spec":
			{"containers": [null, {"image": 1, "env": [{"name": 1}], "ports": [{"containerPort": "x"}]}]}}}`),
		live("apps/v1", "Deployment", `{"replicas": -1, "template": {"metadata": {"labels": null}, "spec": {"containers":
			[{"name": "kubetorch", "image": "a", "resources": {"limits": {"nvidia.com/gpu": "9e99"}},
			"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}], "volumeMounts": [{}]}],
			"volumes": [{"name": "v"}, {"persistentVolumeClaim": {}}], "tolerations": [{}], "affinity": {"nodeAffinity": 1}}}}`),
		live("batch/v1", "Job", `{"parallelism": 99999999999, "template": {"spec": {"containers": [{}]}}}`),
		live("ray.io/v1", "RayCluster", `{"headGroupSpec": {"template": {"spec": {"containers": [{}]}}},
			"workerGroupSpecs": [{"replicas": "2"}]}`),
		live("v1", "PersistentVolumeClaim", `{"accessModes": "ReadWriteMany", "resources": {"requests": {"storage": "-1e9"}},
			"storageClassName": 1, "volumeName": ""}`),
		live("kueue.x-k8s.io/v1beta2", "ClusterQueue", `{"resourceGroups": [{"coveredResources": [1], "flavors": [{"name":
			"a", "resources": [{"name": "cpu", "nominalQuota": "1e-99"}]}]}], "cohort": 1, "fairSharing": {"weight": "x"}}`),
		`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "trainer", "namespace": "ml", "uid": "u"}, "type": 1,
			"data": {"a": "not base64", "b": null, "": "YQ=="}}`,
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "trainer", "namespace": "ml", "uid": "u",
			"annotations": {"kt.dev/steps": "["}}, "data": {"Dockerfile": "FROM\nRUN", "setup.sh": 1}}`,
	} {
		f.Add(seed)
	}
	var body atomic.Pointer[string]
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		respondAlways(w, r, *body.Load())
	}))
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if tcp, ok := conn.(*net.TCPConn); ok && state == http.StateNew {
			_ = tcp.SetLinger(0) // otherwise thousands of closed connections keep their ports
		}
	}
	server.Start()
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, object string) {
		body.Store(&object)
		for resource, id := range ids {
			o := serveInMode(t, "off")
			o.configure(t, fmt.Sprintf(`{"host": %q, "token": "x", "namespace": "ml"}`, server.URL))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // invalid responses are retried
			imported, err := o.server.ImportResourceState(ctx,
				&tfprotov6.ImportResourceStateRequest{TypeName: resource, ID: id})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range imported.Diagnostics {
				t.Log(resource, d.Summary, d.Detail)
			}
			for _, one := range imported.ImportedResources {
				if _, err := o.server.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: resource,
					CurrentState: one.State, Private: one.Private}); err != nil {
					t.Fatal(err)
				}
			}
			cancel()
		}
		server.CloseClientConnections()
	})
}

// live returns an object.
func live(version, kind, spec string) string {
	return fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": "trainer", "namespace": "ml", "uid": "u",
		"resourceVersion": "1", "creationTimestamp": "2026-01-02T03:04:05Z", "labels": {"kubetorch.com/service": "trainer"},
		"managedFields": [{"manager": "a", "operation": "Apply", "fieldsV1": {"f:spec": 1}}]}, "spec": %s,
		"status": {"conditions": [null, {"type": "Ready"}], "phase": "Bound", "replicas": "1"}}`, version, kind, spec)
}

// respondAlways writes the object itself for a request of a single object, and a list with it for a collection. Text
// that is not JSON is sent unchanged.
func respondAlways(w http.ResponseWriter, r *http.Request, object string) {
	w.Header().Set("Content-Type", "application/json")
	last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case r.URL.Query().Has("watch"), r.URL.Query().Has("resourceVersion"):
		w.WriteHeader(http.StatusForbidden) // nothing waits for the next event
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
			"code": 403}`))
	case last != "trainer" && !strings.HasPrefix(last, "v1") && json.Valid([]byte(object)):
		_, _ = w.Write([]byte(`{"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [` +
			object + `]}`))
	default:
		_, _ = w.Write([]byte(object))
	}
}
