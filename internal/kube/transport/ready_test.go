package transport

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestRejectionIsFinalIfTheServerWasReadyBefore(t *testing.T) {
	t.Parallel()
	ok, forbidden := responds(200, found), responds(403, refused("Forbidden", "no roles yet"))
	ready, unready := responds(200, "ok"), responds(500, "[-]informer-sync failed")
	for name, test := range map[string]struct {
		steps, ready     []step
		attempts, checks int
		status           int
	}{
		"it was ready":              {[]step{forbidden}, []step{ready}, 2, 1, 403},
		"it became ready meanwhile": {[]step{forbidden, ok}, []step{ready}, 2, 1, 200},
		"it becomes ready": {[]step{forbidden, forbidden, forbidden, ok}, []step{unready, unready, ready}, 4, 3,
			200},
		"it never becomes ready":     {[]step{forbidden}, []step{unready}, 7, 7, 403},
		"it stops":                   {[]step{forbidden, ok}, []step{breaks}, 2, 1, 200},
		"it does not know /readyz":   {[]step{forbidden}, []step{responds(404, "")}, 2, 1, 403},
		"/readyz may not be read":    {[]step{forbidden}, []step{forbidden}, 2, 1, 403},
		"/readyz has no response":    {[]step{forbidden, ok}, []step{hangs}, 2, 1, 200},
		"a gateway rejects":          {[]step{responds(403, "no", "Content-Type", "text/plain")}, nil, 1, 0, 403},
		"another error is reported":  {[]step{responds(404, refused("NotFound", "no"))}, nil, 1, 0, 404},
		"it is overloaded meanwhile": {[]step{forbidden, responds(503, ""), forbidden}, []step{ready}, 4, 2, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, server := newSteps(test.steps...)
				server.ready = test.ready
				response, err := r.RoundTrip(asks(t.Context(), t, "apply"))
				if err != nil || response.StatusCode != test.status {
					t.Errorf("the response is %v, %v; want the status %d", response, err, test.status)
				}
				if len(server.at) != test.attempts || server.checks != test.checks {
					t.Errorf("%d attempts and %d checks, want %d and %d", len(server.at), server.checks, test.attempts,
						test.checks)
				}
				if limit := 20 * time.Second; time.Since(server.began) > limit {
					t.Errorf("it takes %v, want at most %v", time.Since(server.began), limit)
				}
			})
		})
	}
}

// The readiness of a server is checked once, until there is a sign that it may have restarted.
func TestReadinessIsValidUntilAFailure(t *testing.T) {
	t.Parallel()
	forbidden := responds(403, refused("Forbidden", "no"))
	for name, test := range map[string]struct {
		between []step // responses to reads between the rejections
		watch   bool   // between the rejections, the server ends a watch
		want    int    // checks of the second rejection
	}{
		"nothing happens":    {nil, false, 0},
		"a request succeeds": {[]step{responds(200, found)}, false, 0},
		"a connection fails": {[]step{breaks, responds(200, found)}, false, 1},
		"a watch ends":       {[]step{responds(200, found)}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, server := newSteps(append(append([]step{forbidden, forbidden}, test.between...), forbidden)...)
				rejected := func() int {
					before := server.checks
					response, err := r.RoundTrip(asks(t.Context(), t, "apply"))
					if err != nil || response.StatusCode != http.StatusForbidden {
						t.Errorf("the response is %v, %v; want a rejection", response, err)
					}
					return server.checks - before
				}
				if got := rejected(); got != 1 {
					t.Errorf("%d checks of the first rejection, want 1", got)
				}
				switch {
				case test.watch:
					response, err := r.RoundTrip(asks(t.Context(), t, "watch"))
					if err != nil {
						t.Fatal(err)
					}
					for err == nil {
						_, err = response.Body.Read(make([]byte, 16))
					}
					_ = response.Body.Close()
				case test.between != nil:
					reached(t, r)
				}
				if got := rejected(); got != test.want {
					t.Errorf("%d checks of the second rejection, want %d", got, test.want)
				}
			})
		})
	}
}
