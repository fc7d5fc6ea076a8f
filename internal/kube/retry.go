package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	backoff "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

const (
	// requestTime is how long a request may take, repetitions included. The API
	// server ends its own requests after 60 s (--request-timeout).
	requestTime = 75 * time.Second
	// answerTime is how long a read may take until its answer begins.
	answerTime = 25 * time.Second
	// watchTime is how long a watch may take to be accepted, or to send the first
	// of the objects that it was asked for.
	watchTime = 15 * time.Second
	// settleTime is how long a write goes on whose outcome is not known, also
	// after the run was interrupted or its time is up.
	settleTime = 15 * time.Second
)

// errNoAnswer ends an attempt that takes too long.
var errNoAnswer = errors.New("no answer in time")

// errCutShort is an answer that is not complete.
var errCutShort = errors.New("the answer was cut short")

// retrier is an http.RoundTripper that repeats requests which failed for a
// reason that may pass: see [judge]. All requests of a cluster go through it, and
// client-go, which would repeat some of them by itself, sees neither a
// Retry-After header nor an error that it takes for one to repeat.
//
// A write is repeated only where doing it twice is the same as doing it once.
// While its outcome is unknown it outlives its context, for settleTime.
type retrier struct {
	next   http.RoundTripper
	clock  clock.WithDelayedExecution
	health *health
}

func newRetrier(next http.RoundTripper, clock clock.WithDelayedExecution) *retrier {
	return &retrier{next: next, clock: clock, health: &health{}}
}

// RoundTrip sends a request until it is answered, or there is no more point in it.
func (r *retrier) RoundTrip(request *http.Request) (*http.Response, error) {
	defer closeBody(request)
	ctx := request.Context()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	category := categoryOf(request)
	if category == upgrade {
		return r.next.RoundTrip(request)
	}
	work, stop := r.workContext(ctx, category)
	defer stop()
	var (
		outcome  = outcomeOf(ctx)
		past     = history{started: r.clock.Now()}
		interval = backoff.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 20, Cap: 5 * time.Second}
	)
	for {
		answer, err := r.attempt(work, request, category, past.left(r.clock.Now()))
		if err != nil && work.Err() != nil {
			outcome.note(past.unknown || category.writes()) // it was cut short in the middle
			return nil, context.Cause(work)
		}
		verdict := judge(request, category, answer, err, r.health.note(r.clock.Now(), answer, err))
		past.note(r.clock.Now(), verdict)
		outcome.note(past.unknown)
		pause := max(interval.Step(), verdict.after)
		if !verdict.again || !past.allows(r.clock.Now().Add(pause), verdict, r.health.failing()) {
			if err == nil && verdict.again && answer.StatusCode < http.StatusMultipleChoices {
				return nil, errCutShort // else it would be told as a mistake in JSON
			}
			outcome.answered(answer)
			return answer.response(), err
		}
		interruptible := work
		if !past.unknown { // nothing is lost if it ends here
			interruptible = ctx
		}
		if !r.sleep(interruptible, pause) {
			return nil, fmt.Errorf("%w; before that, it failed: %w", context.Cause(interruptible), failureOf(answer, err))
		}
	}
}

// failureOf says how an attempt failed.
func failureOf(answer *reply, err error) error {
	if err == nil {
		err = fmt.Errorf("the answer was %s", answer.Status)
	}
	return err
}

// workContext is what attempts of a request run under. A write that has begun
// goes on for settleTime after ctx has ended.
func (r *retrier) workContext(ctx context.Context, category category) (context.Context, func()) {
	if !category.writes() {
		return ctx, func() {}
	}
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		timer := r.clock.AfterFunc(settleTime, func() { cancel(context.Cause(ctx)) })
		context.AfterFunc(work, func() { timer.Stop() })
	})
	return work, func() {
		unhook()
		cancel(nil)
	}
}

// attempt sends a request once and reads its answer, except where that is a stream.
func (r *retrier) attempt(ctx context.Context, request *http.Request, category category, left time.Duration) (*reply,
	error) {
	ctx, cancel := context.WithCancelCause(ctx)
	limit := left
	switch {
	case category == stream:
		limit = watchTime
	case category == read:
		limit = min(left, answerTime)
	}
	timer := r.clock.AfterFunc(limit, func() { cancel(errNoAnswer) })
	defer timer.Stop()
	attempt := request.WithContext(ctx)
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			cancel(nil)
			return nil, err
		}
		attempt.Body = body
	}
	response, err := r.next.RoundTrip(attempt)
	if err != nil {
		defer cancel(nil)
		return nil, late(ctx, limit, err)
	}
	if category == stream && response.StatusCode == http.StatusOK {
		body := &streamBody{ReadCloser: response.Body, stop: cancel}
		if request.URL.Query().Get("sendInitialEvents") == "true" {
			body.silent = r.clock.AfterFunc(watchTime, func() { cancel(errNoAnswer) })
		}
		response.Body = body
		return &reply{Response: response}, nil
	}
	defer cancel(nil)
	if category == read && left > limit { // it has begun to answer, perhaps with much
		timer.Stop()
		rest := r.clock.AfterFunc(left-limit, func() { cancel(errNoAnswer) })
		defer rest.Stop()
	}
	defer response.Body.Close()
	body, err := readAll(response)
	if err != nil {
		return nil, late(ctx, left, fmt.Errorf("%w: %w", errCutShort, err))
	}
	return &reply{Response: response, body: body}, nil
}

// late says that an attempt was ended by its own time limit, where it was.
func late(ctx context.Context, limit time.Duration, err error) error {
	if errors.Is(context.Cause(ctx), errNoAnswer) {
		return fmt.Errorf("%w (%v)", errNoAnswer, limit)
	}
	return err
}

func readAll(response *http.Response) ([]byte, error) {
	var body bytes.Buffer
	if response.ContentLength > 0 {
		body.Grow(int(response.ContentLength) + bytes.MinRead)
	}
	_, err := body.ReadFrom(response.Body)
	return body.Bytes(), err
}

// sleep waits, and says whether ctx goes on.
func (r *retrier) sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.clock.After(d):
		return ctx.Err() == nil
	}
}

// WrappedRoundTripper lets apimachinery see the transport.
func (r *retrier) WrappedRoundTripper() http.RoundTripper { return r.next }

func closeBody(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}

// reply is an answer whose body has been read; a stream's has not.
type reply struct {
	*http.Response

	body []byte
}

// response is the answer as client-go takes it: without the header that would
// make it repeat the request once more.
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

// streamBody ends the context of a stream when it is closed. A stream that was to
// begin with a list, and does not, ends with an error: client-go then lists.
type streamBody struct {
	io.ReadCloser

	stop   context.CancelCauseFunc
	silent clock.Timer // nil where nothing need come soon
}

func (b *streamBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.silent != nil && (n > 0 || err != nil) {
		b.silent.Stop()
	}
	return n, err
}

func (b *streamBody) Close() error {
	if b.silent != nil {
		b.silent.Stop()
	}
	defer b.stop(nil)
	return b.ReadCloser.Close()
}

// outcome tells who sends a write whether it may have been carried out although
// it failed.
type outcome struct {
	unknown  atomic.Bool
	doubtful atomic.Bool  // it was sent again, after an attempt that may have been carried out
	status   atomic.Int32 // of the last answer
}

func (o *outcome) note(unknown bool) {
	if o != nil {
		o.unknown.Store(unknown)
		o.doubtful.Store(o.doubtful.Load() || unknown)
	}
}

func (o *outcome) answered(answer *reply) {
	if o != nil && answer != nil {
		o.status.Store(int32(answer.StatusCode)) //nolint:gosec // three digits
	}
}

type outcomeKey struct{}

// withOutcome returns a context whose write notes its outcome: where ctx is one
// already, in the same place.
func withOutcome(ctx context.Context) (context.Context, *outcome) {
	if o := outcomeOf(ctx); o != nil {
		return ctx, o
	}
	o := &outcome{}
	return context.WithValue(ctx, outcomeKey{}, o), o
}

func outcomeOf(ctx context.Context) *outcome {
	o, _ := ctx.Value(outcomeKey{}).(*outcome)
	return o
}

// health is what all requests of a run have met so far.
type health struct {
	mu          sync.Mutex
	known       state
	failedAt    time.Time // since when there was no answer to any request, zero while there is
	lastFailure time.Time
}

// state is what is known of the server.
type state struct {
	reached  bool // an API server has answered
	accepted bool // it has accepted the credentials
}

// note takes in how an attempt ended, and returns what is known by then. A failure
// long after the one before begins another outage: nobody has asked in between.
func (h *health) note(now time.Time, answer *reply, err error) state {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil && answer.byServer() {
		h.failedAt, h.known.reached = time.Time{}, true
		h.known.accepted = h.known.accepted || answer.StatusCode < http.StatusMultipleChoices
		return h.known
	}
	if h.failedAt.IsZero() || now.Sub(h.lastFailure) > serverPatience {
		h.failedAt = now
	}
	h.lastFailure = now
	return h.known
}

// failing returns since when no request was answered, zero where one was.
func (h *health) failing() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failedAt
}
