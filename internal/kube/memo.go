package kube

import (
	"sync"
	"time"
)

// retryAfter is the delay before a failed request is repeated.
const retryAfter = 10 * time.Second

// recalled is a result that is kept for the complete run.
type recalled[T any] struct {
	mu    sync.Mutex
	known bool
	value T

	failed error // error of the last request
	since  time.Time
	at     time.Time // time of the result, by the clock of the cluster
}

// Recall makes one request for all concurrent callers. A failed request is
// repeated only after retryAfter, so that a thousand computes do not each wait
// for a server that does not respond.
func Recall[T any](a *API, key string, request func() (T, error)) (T, error) {
	return recallWhile(a, key, func(T, time.Duration) bool { return true }, request)
}

// recallWhile is Recall for results that are valid only while valid returns
// true for the result and its age.
func recallWhile[T any](
	a *API, key string, valid func(value T, age time.Duration) bool, request func() (T, error),
) (T, error) {
	stored, _ := a.memo.LoadOrStore(key, &recalled[T]{})
	r := stored.(*recalled[T]) //nolint:errcheck // each key has one type
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known && valid(r.value, a.clock.Since(r.at)) {
		return r.value, nil
	}
	if class, _ := classify(Ref{}, r.failed); class == Unreachable && time.Since(r.since) < retryAfter {
		return r.value, r.failed
	}
	value, err := request()
	if r.failed, r.since = err, time.Now(); err == nil {
		r.known, r.value, r.at = true, value, a.clock.Now()
	}
	return value, err
}
