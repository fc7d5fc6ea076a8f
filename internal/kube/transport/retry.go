package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	backoff "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

const (
	// RequestTime is the maximum duration of a request, including retries. The API
	// server ends requests after 60 s (--request-timeout).
	RequestTime = 75 * time.Second
	// responseTime is the maximum time until the response to a read begins.
	responseTime = 25 * time.Second
	// WatchTime is the maximum time until a watch is accepted, or sends the first
	// of the requested objects.
	WatchTime = 15 * time.Second
	// SettleTime is the time that a write with an unknown outcome continues, even
	// after an interrupt or timeout of the run.
	SettleTime = 15 * time.Second
)

// errNoResponse is the error of an attempt that takes too long.
var errNoResponse = errors.New("no response in time")

// errIncomplete is the error of an incomplete response.
var errIncomplete = errors.New("the response was incomplete")

// retrier is an http.RoundTripper that repeats requests with temporary
// failures: see [judge]. All requests of a cluster use it. client-go, which
// also retries some requests, receives neither a Retry-After header nor an
// error that it would retry.
//
// A write is repeated only if it is idempotent. While its outcome is unknown,
// it outlives its context for SettleTime.
type retrier struct {
	next   http.RoundTripper
	clock  clock.WithDelayedExecution
	readyz string // address
	health *health
	checks *checker

	authorization atomic.Value // string: the header of the last request
}

func newRetrier(
	next http.RoundTripper, clock clock.WithDelayedExecution, server *url.URL, limits Limits,
) *retrier {
	return &retrier{next: next, clock: clock, readyz: server.JoinPath("readyz").String(), health: &health{},
		checks: &checker{root: strings.TrimSuffix(server.Path, "/"), limits: limits, lists: map[string]received{}}}
}

// RoundTrip sends a request until it receives a final response, or retries are
// no longer useful.
func (r *retrier) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		defer request.Body.Close()
	}
	ctx := request.Context()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	category := categoryOf(request)
	if category == upgrade {
		return r.next.RoundTrip(request)
	}
	_, outcome := WithOutcome(ctx)
	work, stop := r.workContext(ctx, category)
	defer stop()
	var (
		past     = history{started: r.clock.Now()}
		interval = backoff.Backoff{Duration: time.Second / 10, Factor: 2, Jitter: 0.5, Steps: math.MaxInt,
			Cap: 5 * time.Second}
	)
	for {
		began := r.clock.Now()
		reply, err := r.attempt(work, request, category, past.left(began))
		if err != nil && work.Err() != nil {
			outcome.note(category.writes()) // it was interrupted
			return nil, context.Cause(work)
		}
		known := r.health.note(r.clock.Now(), reply, err)
		known.starting = reply.forbids() && r.starting(work, began)
		verdict := judge(request, category, reply, err, known)
		past.note(r.clock.Now(), verdict)
		outcome.note(past.unknown)
		pause := max(interval.Step(), verdict.after)
		if !verdict.again || !past.allows(r.clock.Now().Add(pause), verdict, known.failing) {
			outcome.responded(reply)
			return reply.response(), err
		}
		interruptible := work
		if !past.unknown { // safe to end here
			interruptible = ctx
		}
		if !r.sleep(interruptible, pause) {
			if err == nil {
				err = fmt.Errorf("the response was %s", config.StatusOf(reply.Response))
			}
			return nil, fmt.Errorf("%w; the previous attempt failed: %w", context.Cause(interruptible), err)
		}
	}
}

// workContext returns the context of the attempts of a request. A started write
// continues for SettleTime after the end of ctx.
func (r *retrier) workContext(ctx context.Context, category category) (context.Context, func()) {
	if !category.writes() {
		return ctx, func() {}
	}
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		timer := r.clock.AfterFunc(SettleTime, func() { cancel(context.Cause(ctx)) })
		context.AfterFunc(work, func() { timer.Stop() })
	})
	return work, func() {
		unhook()
		cancel(nil)
	}
}

// attempt sends a request once and reads its response, unless it is a stream.
func (r *retrier) attempt(
	ctx context.Context, request *http.Request, category category, left time.Duration,
) (*reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := cancel
	defer func() { stop(nil) }()
	limit := left
	switch {
	case category == stream:
		limit = WatchTime
	case category == read:
		limit = min(left, responseTime)
	}
	expire := func() { cancel(errNoResponse) }
	begins, ends := r.clock.AfterFunc(limit, expire), r.clock.AfterFunc(left, expire)
	defer begins.Stop()
	defer ends.Stop()
	// Each attempt has a header of its own: a credential plugin adds its token to it, and adds none if there is one, so
	// that an attempt after a 401 would repeat the rejected token.
	attempt := request.Clone(ctx)
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		attempt.Body = body
	}
	response, err := r.next.RoundTrip(attempt)
	if err != nil {
		return nil, late(ctx, limit, err)
	}
	var authorization string
	if sent := response.Request; sent != nil { // with the credential
		authorization = sent.Header.Get("Authorization")
		r.authorization.Store(authorization)
	}
	if category == stream && response.StatusCode == http.StatusOK {
		body := &streamBody{ReadCloser: response.Body, stop: cancel, ended: r.health.noteUnready}
		if request.URL.Query().Has("watch") {
			body.limit = r.checks.limits.Message
		}
		if request.URL.Query().Get("sendInitialEvents") == "true" {
			body.silent = r.clock.AfterFunc(WatchTime, expire)
		}
		response.Body = body
		stop = func(error) {} // until it is closed
		return &reply{Response: response}, nil
	}
	begins.Stop() // the rest of the response may be large
	defer response.Body.Close()
	size := r.checks.limits.of(targetOf(request, r.checks.root), response)
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(size)+1))
	if len(body) > size {
		return nil, &tooLargeError{size}
	}
	if err != nil {
		return nil, late(ctx, left, fmt.Errorf("%w: %w", errIncomplete, err))
	}
	whole := &reply{Response: response, body: body}
	if !whole.succeeded() || targetOf(request, r.checks.root).subresource == "log" {
		whole.body = []byte(printable.HideCredential(string(body), authorization))
	}
	if err := r.checks.check(request, whole); err != nil {
		return nil, err
	}
	return whole, nil
}

// late replaces the error of an attempt that exceeded its time limit.
func late(ctx context.Context, limit time.Duration, err error) error {
	if errors.Is(context.Cause(ctx), errNoResponse) {
		return fmt.Errorf("%w (%v)", errNoResponse, limit)
	}
	return err
}

// sleep waits, and reports whether ctx is still active.
func (r *retrier) sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.clock.After(d):
		return ctx.Err() == nil
	}
}

// reply is a response whose body has been read, unless it is a stream.
type reply struct {
	*http.Response

	body []byte
}

// response returns the response for client-go, without the header that would
// make it retry the request.
func (a *reply) response() *http.Response {
	if a == nil {
		return nil
	}
	if _, streams := a.Body.(*streamBody); streams {
		return a.Response
	}
	a.Header.Del("Retry-After")
	a.Body = io.NopCloser(bytes.NewReader(a.body))
	return a.Response
}

// Outcome records whether a failed write may have been executed.
type Outcome struct {
	unknown  atomic.Bool
	doubtful atomic.Bool  // it was repeated after an attempt that may have been executed
	status   atomic.Int32 // of the last response
}

func (o *Outcome) note(unknown bool) {
	o.unknown.Store(unknown)
	o.doubtful.Store(o.doubtful.Load() || unknown)
}

func (o *Outcome) responded(reply *reply) {
	if reply != nil {
		o.status.Store(int32(reply.StatusCode)) //nolint:gosec // three digits
	}
}

// Unknown reports whether the write may have been executed although it failed.
func (o *Outcome) Unknown() bool { return o.unknown.Load() }

// Doubtful reports whether the write was repeated after an attempt that may have been executed.
func (o *Outcome) Doubtful() bool { return o.doubtful.Load() }

// Created reports whether the response to the write has the status Created.
func (o *Outcome) Created() bool { return o.status.Load() == http.StatusCreated }

type outcomeKey struct{}

// WithOutcome returns a context that records the outcome of its write, in the
// outcome of ctx if it already has one.
func WithOutcome(ctx context.Context) (context.Context, *Outcome) {
	if o, ok := ctx.Value(outcomeKey{}).(*Outcome); ok {
		return ctx, o
	}
	o := &Outcome{}
	return context.WithValue(ctx, outcomeKey{}, o), o
}

// health is the connection state from all requests of a run.
type health struct {
	mu          sync.Mutex
	known       state
	lastFailure time.Time

	ready atomic.Pointer[time.Time] // when the server was first ready since the last failure; nil if it was not
}

// state is the known state of the server.
type state struct {
	reached  bool      // an API server has responded
	accepted bool      // it has accepted the credentials
	starting bool      // it may have rejected the request because it was not ready
	failing  time.Time // start of the current outage, or zero
}

// note records the result of an attempt, and returns the known state. A failure
// long after the previous one starts a new outage, because there were no
// requests in between.
func (h *health) note(now time.Time, reply *reply, err error) state {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil && reply.byServer() {
		h.known.failing, h.known.reached = time.Time{}, true
		h.known.accepted = h.known.accepted || reply.succeeded()
		return h.known
	}
	if h.known.failing.IsZero() || now.Sub(h.lastFailure) > ServerPatience {
		h.known.failing = now
	}
	h.lastFailure = now
	h.noteUnready()
	return h.known
}

// noteReady records that the server was ready.
func (h *health) noteReady(now time.Time) { h.ready.CompareAndSwap(nil, &now) }

// noteUnready records that the server may have restarted.
func (h *health) noteUnready() { h.ready.Store(nil) }

// readyAt reports whether the server was ready at a time, and has not failed since.
func (h *health) readyAt(at time.Time) bool {
	since := h.ready.Load()
	return since != nil && !since.After(at)
}
