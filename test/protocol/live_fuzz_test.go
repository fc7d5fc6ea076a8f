package protocol_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// FuzzImportAndRefresh imports and refreshes each resource from an API server that returns the same object at every
// path: one of testdata/live.json, with one of its values replaced. No response may cause a panic, or an error of the
// protocol.
func FuzzImportAndRefresh(f *testing.F) {
	resources := []string{"kt_compute", "kt_volume", "kt_secret", "kt_image", "kt_queue"}
	data, err := os.ReadFile("testdata/live.json")
	if err != nil {
		f.Fatal(err)
	}
	var objects []any
	if err := json.Unmarshal(data, &objects); err != nil {
		f.Fatal(err)
	}
	for object := range objects {
		for at, value := range []string{"null", `[null, {"name": 1}]`} {
			f.Add(uint(object), uint(20+at*20), value)
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
		_, _ = w.Write(kubetest.Identified(r.URL.Path, []byte(`{"metadata": {"resourceVersion": "1"}, "items": [`+
			object+`]}`)))
	default:
		_, _ = w.Write([]byte(object))
	}
}
