package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// FuzzImportAndRefresh imports and refreshes each resource from an API server that returns the same object at every
// path, with one of its values replaced. No response may cause a panic, or an error of the protocol.
func FuzzImportAndRefresh(f *testing.F) {
	resources := []string{"kt_compute", "kt_volume", "kt_secret", "kt_image", "kt_queue"}
	objects := liveObjects(f)
	for object := range objects {
		for at, value := range []string{"null", "[]", "{}", `"x"`, "-1e99", `[null, {"name": 1}]`, `{"": null}`} {
			f.Add(uint(object), uint(at*7), value)
		}
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
	o := serveInMode(f, "off")
	f.Fuzz(func(t *testing.T, object, at uint, value string) {
		var with any
		if json.Unmarshal([]byte(value), &with) != nil {
			with = value
		}
		tree := objects[object%uint(len(objects))]
		text, err := json.Marshal(withValue(tree, new(at%uint(countValues(tree))), with))
		if err != nil {
			t.Fatal(err)
		}
		body.Store(new(string(text)))
		o.configure(t, fmt.Sprintf(`{"host": %q, "token": "x", "namespace": "ml"}`, server.URL))
		for _, resource := range resources {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second/5) // invalid responses are retried
			imported, err := o.server.ImportResourceState(ctx,
				&tfprotov6.ImportResourceStateRequest{TypeName: resource, ID: "ml/trainer"})
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range imported.ImportedResources {
				read, err := o.server.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: resource,
					CurrentState: one.State, Private: one.Private})
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range read.Diagnostics {
					t.Log(resource, d.Severity, d.Summary, d.Detail)
				}
			}
			cancel()
		}
		server.CloseClientConnections()
	})
}

// liveObjects returns an object of each resource.
func liveObjects(tb testing.TB) []any {
	tb.Helper()
	pod := `{"containers": [{"name": "kubetorch", "image": "a", "ports": [{"containerPort": 32300}], "env": [{"name": "A",
		"value": "b"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}], "envFrom": [{"secretRef":
		{"name": "s"}}], "volumeMounts": [{"name": "v", "mountPath": "/data"}], "readinessProbe": {"httpGet": {"port": 1}},
		"resources": {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}}], "volumes": [{"name": "v",
		"persistentVolumeClaim": {"claimName": "c"}}], "tolerations": [{"key": "gpu"}], "nodeSelector": {"a": "b"},
		"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms":
		[{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]}}}, "serviceAccountName": "default"}`
	template := `{"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}, "spec": ` + pod + `}`
	var objects []any
	for _, text := range []string{
		live("apps/v1", "Deployment", `{"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": `+template+`}`),
		live("serving.knative.dev/v1", "Service", `{"template": `+template+`}`),
		live("batch/v1", "Job", `{"parallelism": 2, "template": `+template+`}`),
		live("ray.io/v1", "RayCluster", `{"headGroupSpec": {"template": `+template+`}, "workerGroupSpecs": [{"replicas":
			2, "groupName": "a", "template": `+template+`}]}`),
		live("kubeflow.org/v1", "PyTorchJob", `{"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": `+template+
			`}, "Worker": {"replicas": 2, "template": `+template+`}}}`),
		live("v1", "PersistentVolumeClaim", `{"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage":
			"1Gi"}}, "storageClassName": "nfs", "volumeName": "v"}`),
		live("kueue.x-k8s.io/v1beta2", "ClusterQueue", `{"namespaceSelector": {}, "cohortName": "a", "resourceGroups":
			[{"coveredResources": ["cpu"], "flavors": [{"name": "a", "resources": [{"name": "cpu", "nominalQuota": "1",
			"borrowingLimit": "1"}]}]}], "preemption": {"withinClusterQueue": "Never"}, "fairSharing": {"weight": "1"}}`),
		`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "trainer", "namespace": "ml", "uid": "u",
			"resourceVersion": "1"}, "type": "Opaque", "data": {"a": "YQ=="}}`,
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "trainer", "namespace": "ml", "uid": "u",
			"resourceVersion": "1", "annotations": {"kubetorch.com/image-spec": "{}"}}, "data": {"Dockerfile": "FROM a",
			"setup.sh": "true"}}`,
	} {
		var object any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			tb.Fatalf("%s: %v", text, err)
		}
		objects = append(objects, object)
	}
	return objects
}

// live returns an object with a spec.
func live(version, kind, spec string) string {
	return fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": "trainer", "namespace": "ml", "uid": "u",
		"resourceVersion": "1", "creationTimestamp": "2026-01-02T03:04:05Z", "labels": {"kubetorch.com/service": "trainer",
		"app.kubernetes.io/managed-by": "terraform-provider-kt"}, "managedFields": [{"manager": "terraform-provider-kt",
		"operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}], "ownerReferences": [{"kind": "A",
		"name": "a"}]}, "spec": %s, "status": {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Bound",
		"replicas": 1}}`, version, kind, spec)
}

// countValues counts the values in a JSON document.
func countValues(value any) int {
	n := 1
	switch value := value.(type) {
	case map[string]any:
		for _, child := range value {
			n += countValues(child)
		}
	case []any:
		for _, child := range value {
			n += countValues(child)
		}
	}
	return n
}

// withValue returns a copy of a JSON document in which the value number at, in the order of the keys, is another one.
func withValue(value any, at *uint, other any) any {
	if *at == 0 {
		*at = math.MaxUint
		return other
	}
	*at--
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			out[key] = withValue(value[key], at, other)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, child := range value {
			out[i] = withValue(child, at, other)
		}
		return out
	}
	return value
}

// respondAlways writes the object itself for a request of a single object, and a list with it for a collection.
func respondAlways(w http.ResponseWriter, r *http.Request, object string) {
	w.Header().Set("Content-Type", "application/json")
	last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case r.URL.Query().Has("watch"), r.URL.Query().Has("resourceVersion"):
		w.WriteHeader(http.StatusForbidden) // nothing waits for the next event
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
			"code": 403}`))
	case last != "trainer" && !strings.HasPrefix(last, "v1"):
		_, _ = w.Write([]byte(`{"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [` +
			object + `]}`))
	default:
		_, _ = w.Write([]byte(object))
	}
}
