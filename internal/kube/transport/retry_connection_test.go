package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestEachAttemptSendsTheCompleteBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, server := newSteps(breaks, breaks, responds(200, found))
		request := asks(t.Context(), t, "apply")
		response, err := r.RoundTrip(request)
		if err != nil || strings.Join(server.bodies, " ") != `{"a":1} {"a":1} {"a":1}` {
			t.Errorf("sent %q, error %v", server.bodies, err)
		}
		if body, _ := io.ReadAll(response.Body); string(body) != found {
			t.Errorf("the body is %q", body)
		}
		unreadable := errors.New("unreadable")
		request = asks(t.Context(), t, "create")
		request.GetBody = func() (io.ReadCloser, error) { return nil, unreadable }
		server.at = nil
		if _, err := r.RoundTrip(request); !errors.Is(err, unreadable) || len(server.at) > 0 {
			t.Errorf("%d attempts without a body, error %v", len(server.at), err)
		}
	})
}

// closing counts how often a body is closed.
type closing struct {
	io.Reader

	closed *int
}

func (c closing) Close() error { *c.closed++; return nil }

func TestBodyOfARequestIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := newSteps(responds(200, found))
		request, closed := asks(t.Context(), t, "create"), 0
		request.Body = closing{strings.NewReader("{}"), &closed}
		if _, err := r.RoundTrip(request); err != nil || closed != 1 {
			t.Errorf("closed %d times, error %v", closed, err)
		}
	})
}

func TestUpgradedConnectionsAreNeitherRetriedNorRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		closed := 0
		body := closing{strings.NewReader(""), &closed}
		r, server := newSteps(breaks, func(*http.Request) (*http.Response, error) {
			return response(http.StatusSwitchingProtocols, body), nil
		})
		request := asks(t.Context(), t, "create")
		request.Header.Set("Upgrade", "websocket")
		if _, err := r.RoundTrip(request); err == nil || len(server.at) != 1 {
			t.Errorf("%d attempts, error %v", len(server.at), err)
		}
		if response, err := r.RoundTrip(request); err != nil || response.Body != body || server.last.Err() != nil {
			t.Errorf("%v, %v", response, err)
		}
	})
}

// A run has thousands of requests, so nothing may remain of one.
func TestNothingRemainsOfARequest(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"read", "apply", "watch", "watch that lists"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				fake := clocktesting.NewFakeClock(time.Now())
				server := &scripted{steps: []step{func(*http.Request) (*http.Response, error) {
					if what == "apply" {
						interrupt()
						synctest.Wait()
					}
					return response(http.StatusOK, io.NopCloser(strings.NewReader(found))), nil
				}}}
				response, err := newRetrier(server, fake, serverURL(), DefaultLimits()).RoundTrip(asks(ctx, t, what))
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				interrupt()
				if synctest.Wait(); fake.HasWaiters() {
					t.Error("a timer remains")
				}
			})
		})
	}
	t.Run("an apply before an interrupt", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			fake := clocktesting.NewFakeClock(time.Now())
			server := &scripted{steps: []step{responds(200, found)}}
			retries := newRetrier(server, fake, serverURL(), DefaultLimits())
			if _, err := retries.RoundTrip(asks(ctx, t, "apply")); err != nil {
				t.Fatal(err)
			}
			interrupt()
			if synctest.Wait(); fake.HasWaiters() {
				t.Error("a timer remains")
			}
		})
	})
}

// watched is the body of a watch. It sends each text when it is asked to, and ends with its request.
type watched struct {
	ctx  context.Context
	send chan string

	closed *int
}

func (s watched) Read(p []byte) (int, error) {
	select {
	case <-s.ctx.Done():
		return 0, context.Cause(s.ctx)
	case text := <-s.send:
		return copy(p, text), nil
	}
}

func (s watched) Close() error { *s.closed++; return nil }

// readUntilItFails reads in the background. The returned function waits until nothing happens any more at this time,
// and returns the error of the reader, or nil while it has none.
func readUntilItFails(body io.Reader) func() error {
	var failed atomic.Pointer[error]
	go func() {
		for {
			if _, err := body.Read(make([]byte, 9)); err != nil {
				failed.Store(&err)
				return
			}
		}
	}()
	return func() error {
		synctest.Wait()
		if err := failed.Load(); err != nil {
			return *err
		}
		return nil
	}
}

func TestWatchEndsOnlyIfItsListDoesNotBegin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		what  string
		sends bool
		ends  bool
	}{
		"a silent watch":          {"watch", false, false},
		"a list that never began": {"watch that lists", false, true},
		"a list that began":       {"watch that lists", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				send, closed := make(chan string, 2), 0
				r, server := newSteps(func(request *http.Request) (*http.Response, error) {
					return response(http.StatusOK, watched{request.Context(), send, &closed}), nil
				})
				response, err := r.RoundTrip(asks(t.Context(), t, test.what))
				if err != nil {
					t.Fatal(err)
				}
				send <- "" // which is not a message
				if test.sends {
					send <- "a"
				}
				failure := readUntilItFails(response.Body)
				time.Sleep(15*time.Second - 1)
				if err := failure(); err != nil {
					t.Errorf("it ended early: %v", err)
				}
				time.Sleep(time.Hour)
				if err := failure(); errors.Is(err, errNoResponse) != test.ends {
					t.Errorf("after an hour: %v", err)
				}
				_ = response.Body.Close()
				if failure() == nil || server.last.Err() == nil || closed != 1 {
					t.Error("the watch continues after it was closed")
				}
			})
		})
	}
}

// runContext is the context of a run, which counts those that wait for its end.
type runContext struct {
	context.Context

	ended chan struct{}
	hooks int
}

func (c *runContext) Done() <-chan struct{} { return c.ended }

// AfterFunc is called by context.AfterFunc.
func (c *runContext) AfterFunc(func()) (stop func() bool) {
	c.hooks++
	return func() bool { c.hooks--; return true }
}

func TestFinishedWritesDoNotWaitForTheEndOfTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := &runContext{Context: t.Context(), ended: make(chan struct{})}
		r, _ := newSteps(func(request *http.Request) (*http.Response, error) {
			if run.hooks != 1 {
				t.Errorf("%d hooks during the write, want 1", run.hooks)
			}
			return responds(200, found)(request)
		})
		if _, err := r.RoundTrip(asks(run, t, "apply")); err != nil || run.hooks != 0 {
			t.Errorf("%d hooks remain, error %v", run.hooks, err)
		}
	})
}
