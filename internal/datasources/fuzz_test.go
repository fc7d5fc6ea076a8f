package datasources

import (
	"context"
	"encoding/json"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// FuzzObjects reads each data source from an API server that returns the same arbitrary object, or text, at every path.
// No response may cause a panic, and Terraform must be able to store the result.
func FuzzObjects(f *testing.F) {
	for _, seed := range objectSeeds() {
		f.Add(seed)
	}
	var body atomic.Value
	body.Store("")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		respond(w, r, body.Load().(string)) //nolint:forcetypeassert // nothing else is stored
	}))
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if tcp, ok := conn.(*net.TCPConn); ok && state == http.StateNew {
			_ = tcp.SetLinger(0) // otherwise thousands of closed connections keep their ports
		}
	}
	server.Start()
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, object string) {
		body.Store(object)
		for _, construct := range All() {
			source := construct()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // invalid responses are retried
			cluster := kube.NewCluster(ctx, config.Config{
				Host: server.URL, Token: "x", Namespace: "ml",
				Env: config.Env{Getenv: func(string) string { return "" }},
			})
			resp := read(ctx, t, source, &tf.ProviderData{Run: run.New(t.Context(), cluster, nil)}, false)
			cancel()
			checkState(t, resp)
		}
		server.CloseClientConnections()
	})
}

// respond writes the object itself for a request of a single object, and a list with it for a collection. Text that is
// not JSON is sent unchanged.
func respond(w http.ResponseWriter, r *http.Request, object string) {
	w.Header().Set("Content-Type", "application/json")
	path := r.URL.Path
	last := path[strings.LastIndex(path, "/")+1:]
	collection := last != "trainer" && !strings.HasPrefix(last, "v1") // neither an API group nor a version
	switch {
	case last == "selfsubjectaccessreviews":
		_, _ = w.Write([]byte(`{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": {},
			"status": {"allowed": false}}`))
	case r.URL.Query().Has("watch"), r.URL.Query().Has("resourceVersion"):
		// Without a shared watch, objects are read individually, and nothing waits for the next event.
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
			"code": 403}`))
	case last == "v1alpha1":
		_, _ = w.Write(kubetest.Identified(path, []byte(`{"resources": [{"name": "computes", "kind": "Compute",
			"namespaced": true}]}`)))
	case collection && json.Valid([]byte(object)):
		_, _ = w.Write(kubetest.Identified(r.URL.Path, []byte(`{"metadata": {"resourceVersion": "1"}, "items": [`+
			object+`]}`)))
	default:
		_, _ = w.Write([]byte(object))
	}
}

// checkState fails if Terraform cannot store the state, for example because JSON cannot represent infinite numbers.
func checkState(t *testing.T, resp *datasource.ReadResponse) {
	t.Helper()
	if resp.Diagnostics.HasError() {
		return
	}
	typ := resp.State.Schema.Type().TerraformType(t.Context())
	if _, err := tfprotov6.NewDynamicValue(typ, resp.State.Raw); err != nil {
		t.Errorf("the state cannot be sent: %v", err)
	}
	_ = tftypes.Walk(resp.State.Raw, func(at *tftypes.AttributePath, value tftypes.Value) (bool, error) {
		var number big.Float
		if value.Type().Is(tftypes.Number) && value.IsKnown() && !value.IsNull() && value.As(&number) == nil &&
			number.IsInf() {
			t.Errorf("%s is infinite", at)
		}
		return true, nil
	})
}

// objectSeeds returns objects of several kinds: each field is read by at least one data source.
func objectSeeds() []string {
	return []string{
		"null", "[]", "{}", `{"kind": "Status", "status": "Failure", "code": 500}`,
		`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "trainer", "namespace": "ml", "uid": "u",
			"labels": {"kubetorch.com/service": "trainer"}},
		  "spec": {"clusterIP": "None", "selector": {"a": "b"},
		  "ports": [{"name": "http", "port": 80, "targetPort": "http"}]}}`,
		`{"apiVersion": "compute.skytorch.dev/v1alpha1", "kind": "Compute", "metadata": {"name": "trainer",
			"namespace": "ml", "uid": "u", "generation": 2},
		  "spec": {"image": "a", "suspend": false, "resources": {"cpu": "1e3"}, "env": [{"name": "A", "value": "1"}],
		"ports": [{"port": 50051, "name": "grpc"}],
		    "override": {"containers": [{"name": "server"}]}, "volumeClaimTemplates": [{"metadata": {"name": "s"},
		"spec": {"resources": {"requests": {"storage": "1Gi"}}}}]},
		  "status": {"addresses": [{"value": "[::1"}, {"value": "a:b:c"}, 3],
		  "conditions": [{"type": "Ready", "status": "True"}, null]}}`,
		`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "trainer", "namespace": "ml",
			"generation": 9223372036854775807, "annotations": {"a": "b"}},
		  "spec": {"replicas": 1e300, "selector": {"matchLabels": {"a": "b"}},
		  "template": {"spec": {"containers": [null, {"image": 1}]}}}, "status": {"conditions": [{}]}}`,
		`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "trainer",
			"labels": {"nvidia.com/gpu.product": "H100"}},
		  "spec": {"nodeName": "trainer", "containers": [{"name": "a",
		"resources": {"requests": {"nvidia.com/gpu": "9e18"}}}]},
		  "status": {"capacity": {"nvidia.com/gpu": "9223372036854775807"}, "allocatable": {"nvidia.com/gpu": "-1"},
		  "conditions": [{"type": "Ready", "status": "True"}]}}`,
		`{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "trainer",
			"creationTimestamp": "0000-01-01T00:00:00Z"}, "type": "Warning", "reason": "x", "count": -1,
		  "series": {"count": 2, "lastObservedTime": "9999-12-31T23:59:59.999999Z"},
		  "involvedObject": {"kind": "Compute", "name": "trainer", "namespace": "ml"}}`,
		`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "trainer", "deletionTimestamp": null, "uid": "u"},
			"spec": {"nodeName": "n", "containers": [{"ports": [{"containerPort": 50051}]}]},
		  "status": {"podIP": "x", "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}`,
		`{"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "trainer"},
			"spec": {"headGroupSpec": {"template": {"spec": {"containers": [{}]}}},
			"workerGroupSpecs": [{"replicas": -1}, 7]}, "status": {"state": 1}}`,
	}
}
