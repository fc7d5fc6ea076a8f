package protocol_test

import (
	"cmp"
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
	var body, collection atomic.Pointer[string]
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		respondAlways(w, r, *body.Load(), *collection.Load())
	}))
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if tcp, ok := conn.(*net.TCPConn); ok && state == http.StateNew {
			_ = tcp.SetLinger(0) // otherwise thousands of closed connections keep their ports
		}
	}
	server.Start()
	f.Cleanup(server.Close)
	o := serveInMode(f, "off")
	respond := func(tb testing.TB, object any, kind string) {
		tb.Helper()
		collection.Store(new("/" + strings.ToLower(kind) + "s/"))
		text, err := json.Marshal(object)
		if err != nil {
			tb.Fatal(err)
		}
		body.Store(new(string(text)))
		o.configure(tb, fmt.Sprintf(`{"host": %q, "token": "x", "namespace": "ml"}`, server.URL))
	}
	for _, object := range objects { // otherwise the fuzzer would only see errors
		kind := kindOf(object)
		respond(f, object, kind)
		resource := cmp.Or(map[string]string{"PersistentVolumeClaim": "kt_volume", "ClusterQueue": "kt_queue",
			"Secret": "kt_secret", "ConfigMap": "kt_image"}[kind], "kt_compute")
		for _, d := range o.importAndRefresh(f.Context(), f, resource, time.Minute) {
			if isError(d) {
				f.Errorf("%s as %s: %s: %s", kind, resource, d.Summary, d.Detail)
			}
		}
	}
	f.Fuzz(func(t *testing.T, object, at uint, value string) {
		var with any
		if json.Unmarshal([]byte(value), &with) != nil {
			with = value
		}
		tree := objects[object%uint(len(objects))]
		respond(t, withValue(tree, new(at%uint(countValues(tree))), with), kindOf(tree))
		for _, resource := range resources {
			for _, d := range o.importAndRefresh(t.Context(), t, resource, time.Second/2) { // invalid ones are retried
				t.Log(resource, d.Severity, d.Summary, d.Detail)
			}
		}
		server.CloseClientConnections()
	})
}

// importAndRefresh imports a resource, completes the import with its first read, and refreshes it with a second one.
func (o offline) importAndRefresh(
	ctx context.Context, tb testing.TB, resource string, limit time.Duration,
) []*tfprotov6.Diagnostic {
	tb.Helper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	imported, err := o.server.ImportResourceState(ctx,
		&tfprotov6.ImportResourceStateRequest{TypeName: resource, ID: "ml/trainer"})
	if err != nil {
		tb.Fatal(err)
	}
	all := imported.Diagnostics
	for _, one := range imported.ImportedResources {
		state, private := one.State, one.Private
		for range 2 {
			if slices.ContainsFunc(all, isError) { // Terraform stops, and the state is null
				break
			}
			read, err := o.server.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: resource,
				CurrentState: state, Private: private})
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, read.Diagnostics...)
			state, private = read.NewState, read.Private
		}
	}
	return all
}

func isError(d *tfprotov6.Diagnostic) bool { return d.Severity == tfprotov6.DiagnosticSeverityError }

func kindOf(object any) string {
	fields, _ := object.(map[string]any)
	kind, _ := fields["kind"].(string)
	return kind
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

// respondAlways writes the object itself for a request of a single object of its kind, whose path contains collection,
// and a list with it for every collection.
func respondAlways(w http.ResponseWriter, r *http.Request, object, collection string) {
	w.Header().Set("Content-Type", "application/json")
	last := strings.TrimPrefix(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], "kt-image-")
	switch {
	case r.URL.Query().Has("watch"), r.URL.Query().Has("resourceVersion"):
		w.WriteHeader(http.StatusForbidden) // nothing waits for the next event
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
			"code": 403}`))
	case strings.HasPrefix(last, "v1"): // discovery of other groups: an invalid response would only cause retries
		w.WriteHeader(http.StatusNotFound)
	case last != "trainer":
		_, _ = w.Write(kubetest.Identified(r.URL.Path, []byte(`{"metadata": {"resourceVersion": "1"}, "items": [`+
			object+`]}`)))
	case !strings.Contains(r.URL.Path, collection):
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
			"details": {"name": "trainer"}, "code": 404}`))
	default:
		_, _ = w.Write([]byte(object))
	}
}
