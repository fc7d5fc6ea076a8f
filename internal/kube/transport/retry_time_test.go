package transport

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestAttemptsOfARequestAreLimitedByTheFailure(t *testing.T) {
	t.Parallel()
	ok := responds(200, found)
	internal := responds(500, refused("InternalError", "etcd is slow"))
	for name, test := range map[string]struct {
		what    string
		first   step // the response to an earlier request of the run; nil for none
		steps   []step
		want    int    // attempts
		status  int    // of the response; 0 for an error
		message string // in the error
	}{
		"a success":                       {"read", nil, []step{ok}, 1, 200, ""},
		"a success after failures":        {"read", nil, []step{breaks, internal, ok}, 3, 200, ""},
		"a creation that broke":           {"create", ok, []step{breaks, ok}, 1, 0, "connection reset by peer"},
		"a creation that may be executed": {"create", ok, []step{internal, ok}, 1, 500, ""},
		"a creation with half a response": {"create", ok, []step{responds(201, `{"a`), ok}, 1, 0, "incomplete"},
		"a text that is no JSON": {"read", nil, []step{responds(200, "line", "Content-Type", "text/plain"), ok}, 1, 0,
			"is not what was requested"},
		"an unexpected redirection":     {"read", nil, []step{responds(300, `{"a`), ok}, 1, 300, ""},
		"a creation that was throttled": {"create", ok, []step{responds(429, "", "Retry-After", "1"), ok}, 2, 200, ""},
		"half a response":               {"read", nil, []step{responds(200, `{"a`), ok}, 2, 200, ""},
		"credentials expired for ever": {"read", ok, []step{responds(401, refused("Unauthorized", "no"))}, 4, 401,
			""},
		"wrong credentials": {"read", nil, []step{responds(401, refused("Unauthorized", "no"))}, 2, 401, ""},
		"a gateway without a route": {"read", ok, []step{responds(404, "not found", "Content-Type", "text/plain")},
			4, 404, ""},
		"another writer is always first": {"apply", ok, []step{responds(409, refused("Conflict", "changed"))}, 5, 409,
			""},
		"a webhook that does not respond": {"apply", ok, []step{responds(500, refused("InternalError",
			"failed calling webhook x"))}, 4, 500, ""},
		"a webhook that responds again": {"apply", ok, []step{responds(500, refused("InternalError",
			"failed calling webhook x")), ok}, 2, 200, ""},
		"a webhook that did not respond to a creation": {"create", ok, []step{responds(500, refused("InternalError",
			"failed calling webhook x")), ok}, 2, 200, ""},
		"a rejection":                {"apply", ok, []step{responds(403, refused("Forbidden", "no"))}, 2, 403, ""},
		"no listener at the address": {"read", nil, []step{noListener, noListener, ok}, 3, 200, ""},
		"a wrong certificate": {"read", ok, []step{func(*http.Request) (*http.Response, error) {
			return nil, x509.CertificateInvalidError{Reason: x509.Expired}
		}, ok}, 1, 0, "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				list := test.steps
				if test.first != nil {
					list = append([]step{test.first}, list...)
				}
				r, server := newSteps(list...)
				if test.first != nil {
					reached(t, r)
					server.at = server.at[:1]
				}
				before := len(server.at)
				response, err := r.RoundTrip(asks(t.Context(), t, test.what))
				if got := len(server.at) - before; got != test.want {
					t.Errorf("%d attempts, want %d", got, test.want)
				}
				switch {
				case (err == nil) != (test.status != 0), err != nil && !strings.Contains(err.Error(), test.message):
					t.Errorf("the error is %v", err)
				case err == nil && response.StatusCode != test.status:
					t.Errorf("the status is %d, want %d", response.StatusCode, test.status)
				}
			})
		})
	}
}

func noListener(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
}

// An attempt starts if the delay that the server requested ends before the time of the retries.
func TestDelayThatTheServerRequestsIsKept(t *testing.T) {
	t.Parallel()
	const throttled, unavailable = 429, 503
	for name, test := range map[string]struct {
		reached bool
		code    int
		delay   string
		again   bool
	}{
		"throttled for a short time":                {true, throttled, "7", true},
		"throttled almost for the whole request":    {true, throttled, "74", true},
		"throttled longer than the request":         {true, throttled, "75", false},
		"a restart":                                 {true, unavailable, "29", true},
		"a restart that takes too long":             {true, unavailable, "30", false},
		"a server that never responded":             {false, unavailable, "4", true},
		"a server that never responded, for longer": {false, unavailable, "5", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ok, busy := responds(200, found), responds(test.code, "busy", "Retry-After", test.delay)
				list := []step{busy, ok}
				if test.reached {
					list = []step{ok, busy, ok}
				}
				r, server := newSteps(list...)
				if test.reached {
					reached(t, r)
				}
				response, err := r.RoundTrip(asks(t.Context(), t, "read"))
				if err != nil {
					t.Fatal(err)
				}
				delay, _ := time.ParseDuration(test.delay + "s")
				if again := response.StatusCode == http.StatusOK; again != test.again {
					t.Errorf("again: %t, want %t", again, test.again)
				}
				if took := time.Since(server.began); test.again && took != delay || !test.again && took != 0 {
					t.Errorf("it took %v", took)
				}
				if response.Header.Get("Retry-After") != "" { // client-go would retry again
					t.Error("the response has Retry-After")
				}
			})
		})
	}
}

func TestPausesBetweenAttemptsGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, server := newSteps(responds(200, found), breaks)
		reached(t, r)
		if _, err := r.RoundTrip(asks(t.Context(), t, "read")); err == nil {
			t.Fatal("no error")
		}
		shortest := []int{100, 200, 400, 800, 1600, 3200, 5000} // milliseconds, the last one for all further pauses
		for i, at := range server.at[2:] {
			pause, least := at-server.at[i+1], time.Duration(shortest[min(i, len(shortest)-1)])*time.Millisecond
			if pause < least || pause > least*3/2 {
				t.Errorf("pause %d is %v, want %v and up to a half of it more", i, pause, least)
			}
		}
		if end := server.at[len(server.at)-1]; end > 30*time.Second || end < 20*time.Second {
			t.Errorf("the last attempt was after %v", end)
		}
	})
}

func TestServerThatDoesNotRespondEndsARequestInTime(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		limit    time.Duration // of the first attempt
		attempts int
		end      time.Duration // 0: not known exactly
		message  string
	}{
		"read":  {25 * time.Second, 3, 75 * time.Second, "no response in time (24."}, // what is left for the third one
		"apply": {75 * time.Second, 2, 90 * time.Second, "no response in time (14."},
		"watch": {15 * time.Second, 3, 0, "no response in time (15s)"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, server := newSteps(responds(200, found), hangs)
				reached(t, r)
				ctx, sent := WithOutcome(t.Context())
				_, err := r.RoundTrip(asks(ctx, t, what))
				took := time.Since(server.began)
				first := server.at[2] - test.limit // the second attempt, after the shortest pause
				if first < 100*time.Millisecond || first > 150*time.Millisecond {
					t.Errorf("the second attempt was at %v", server.at[2])
				}
				if len(server.at)-1 != test.attempts || test.end != 0 && took.Round(time.Second) != test.end {
					t.Errorf("%d attempts in %v", len(server.at)-1, took)
				}
				if !strings.Contains(err.Error(), test.message) {
					t.Errorf("the error is %v", err)
				}
				if !errors.Is(err, errNoResponse) || sent.unknown.Load() != (what == "apply") {
					t.Errorf("unknown outcome: %t, error %v", sent.unknown.Load(), err)
				}
			})
		})
	}
}

// slowBody is a body that needs a time for each of its two halves.
type slowBody struct {
	ctx    context.Context
	left   []string
	delay  time.Duration
	closed bool
}

func (b *slowBody) Read(p []byte) (int, error) {
	select {
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	case <-time.After(b.delay):
	}
	if len(b.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.left[0])
	b.left = b.left[1:]
	return n, nil
}

func (b *slowBody) Close() error { b.closed = true; return nil }

func TestResponseThatHasBegunMayBeSlow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		what  string
		delay time.Duration
		ok    bool
	}{
		"a large list":          {"read", 24 * time.Second, true},
		"a list without an end": {"read", 40 * time.Second, false},
		"an apply":              {"apply", 20 * time.Second, true},
		"a rejected watch":      {"watch", 20 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var bodies []*slowBody
				slow := func(request *http.Request) (*http.Response, error) {
					body := &slowBody{ctx: request.Context(), left: []string{found[:9], found[9:]}, delay: test.delay}
					bodies = append(bodies, body)
					code := http.StatusOK
					if test.what == "watch" {
						code = http.StatusForbidden
					}
					return response(code, body), nil
				}
				r, server := newSteps(slow)
				response, err := r.RoundTrip(asks(t.Context(), t, test.what))
				if (err == nil) != test.ok {
					t.Fatalf("after %v: %v", time.Since(server.began), err)
				}
				if took := time.Since(server.began); took > 75*time.Second {
					t.Errorf("it took %v", took)
				}
				if !bodies[0].closed || server.last.Err() == nil {
					t.Error("the connection is kept")
				}
				if !test.ok {
					if !errors.Is(err, errIncomplete) && !errors.Is(err, errNoResponse) {
						t.Errorf("the error is %v", err)
					}
					return
				}
				if text, _ := io.ReadAll(response.Body); string(text) != found {
					t.Errorf("the body is %q", text)
				}
			})
		})
	}
}

func TestInterruptEndsAWriteOnlyWhenItsOutcomeIsKnownOrAfterATime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		what    string
		step    step
		end     time.Duration // after the interrupt
		unknown bool
	}{
		"an apply without a response":   {"apply", hangs, 15 * time.Second, true},
		"a deletion without a response": {"delete", hangs, 15 * time.Second, true},
		"an apply that was throttled":   {"apply", responds(429, "", "Retry-After", "60"), 0, false},
		"an apply that may have been executed": {"apply", responds(503, "", "Retry-After", "25"), 15 * time.Second,
			true},
		"a read without a response": {"read", hangs, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, server := newSteps(responds(200, found), test.step)
				reached(t, r)
				interrupted := errors.New("interrupted")
				ctx, interrupt := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { interrupt(interrupted) })
				ctx, sent := WithOutcome(ctx)
				_, err := r.RoundTrip(asks(ctx, t, test.what))
				if took := time.Since(server.began); took != time.Second+test.end {
					t.Errorf("it ended after %v", took)
				}
				if !errors.Is(err, interrupted) || sent.unknown.Load() != test.unknown {
					t.Errorf("unknown outcome: %t, error %v", sent.unknown.Load(), err)
				}
				if test.what == "read" && !r.health.known.failing.IsZero() {
					t.Error("the interrupt counts as an outage")
				}
				if strings.Contains(name, "throttled") && !strings.Contains(err.Error(), "Too Many Requests") {
					t.Errorf("%v does not contain the response", err)
				}
			})
		})
	}
}

func TestInterruptedRunSendsNoRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, server := newSteps(responds(200, found))
		interrupted := errors.New("interrupted")
		ctx, interrupt := context.WithCancelCause(t.Context())
		interrupt(interrupted)
		if _, err := r.RoundTrip(asks(ctx, t, "apply")); !errors.Is(err, interrupted) || len(server.at) > 0 {
			t.Errorf("%d attempts, error %v", len(server.at), err)
		}
		for range 20 { // select has no order
			if (&retrier{clock: clocktesting.NewFakeClock(time.Now())}).sleep(ctx, 0) {
				t.Fatal("it continues after the end of the run")
			}
		}
	})
}
