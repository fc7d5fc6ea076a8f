package kube

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// client-go would send the token, and with 307 and 308 also the object, to the target of a redirect.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, code := range []int{301, 302, 303, 307, 308} {
		for verb, call := range verbs() {
			t.Run(fmt.Sprintf("%d %s", code, verb), func(t *testing.T) {
				t.Parallel()
				other := kubetest.Forbidden(t)
				var requests atomic.Int32
				cluster := clusterOf(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
					requests.Add(1)
					http.Redirect(w, request, other+"/elsewhere?secret=1", code)
				}))
				err := call(t.Context(), cluster)
				if ClassOf(err) != Unreachable || OutcomeUnknown(err) {
					t.Errorf("the class is %d, and the outcome is unknown: %t", ClassOf(err), OutcomeUnknown(err))
				}
				failed, ok := errors.AsType[*Error](err)
				if !ok {
					t.Fatalf("the error is %v", err)
				}
				_, cause := failed.Explain()
				host := cluster.API.config.Host
				for _, text := range []string{fmt.Sprint(code), host, other + "/elsewhere", "redirect"} {
					if !strings.Contains(cause.Summary, text) {
						t.Errorf("%q is not in %s", text, cause.Summary)
					}
				}
				if strings.Contains(cause.Summary, "secret=1") {
					t.Errorf("the query is in %s", cause.Summary)
				}
				if verb != "read" && requests.Load() != 1 { // a read starts a watch, which is tried again
					t.Errorf("%d requests, want 1", requests.Load())
				}
			})
		}
	}
}
