package kube

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// A response of a gateway, or of another server at the address, must not be
// treated as a response of the API server. In particular, it does not show that
// an object was deleted.
func TestOnlyResponsesOfTheAPIServerAreTrusted(t *testing.T) {
	t.Parallel()
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"NotFound",` +
		`"code":404,"details":{"name":"trainer","kind":"deployments","group":"apps"}}`
	for name, test := range map[string]struct {
		code        int
		contentType string
		body        string
		class       Class
		says        string
	}{
		"the object does not exist": {404, "application/json", status, NotFound, "does not exist"},
		"the path is not served": {404, "text/plain", "404 page not found\n", Unreachable,
			"Check the address of the API server"},
		"JSON of another API": {404, "application/json", `{"detail":"Not Found"}`, Unreachable,
			"Check the address of the API server"},
		"a web page that does not exist": {404, "text/html; charset=utf-8", "<html>", Unreachable,
			"the response is a web page (404 Not Found)"},
		"a login page": {200, "text/html", "<html>", Unreachable,
			"the response is a web page (200 OK)"},
		"a gateway without a backend":         {502, "text/plain", "Bad Gateway", Unreachable, "Bad Gateway"},
		"a gateway that rejects the request":  {403, "text/plain", "Forbidden", Unreachable, "Forbidden"},
		"a gateway that requires credentials": {401, "text/plain", "Unauthorized", Unauthorized, "kubectl auth whoami"},
		"an overloaded server": {429, "text/plain", "Too many requests", Unreachable,
			"too many requests"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				w.WriteHeader(test.code)
				_, _ = io.WriteString(w, test.body)
			}))
			t.Cleanup(server.Close)
			cluster := NewCluster(t.Context(), config.Config{Host: server.URL, Namespace: "ml"})
			cluster.API.clock = &kubetest.Clock{}
			ref := Ref{Kind: kind.Deployment(), Namespace: "ml", Name: "trainer"}
			_, err := cluster.API.Get(t.Context(), ref)
			var failure *Error
			if !errors.As(err, &failure) || failure.Class != test.class {
				t.Fatalf("%v is of class %v, want %v", err, ClassOf(err), test.class)
			}
			if summary, detail := explained(failure); !strings.Contains(summary+detail, test.says) {
				t.Errorf("it says %s:\n%s\nwant: %s", summary, detail, test.says)
			}
			err = cluster.Delete(t.Context(), ref, "")
			if gone := err == nil; gone != (test.class == NotFound) {
				t.Errorf("deletion ended with %v", err)
			}
		})
	}
}
