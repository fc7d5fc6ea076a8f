package transport

import (
	"context"
	"net/http"
	"time"
)

// An API server responds before its RBAC authorizer has read the roles, and rejects everything until then (seen in
// restarts of Kubernetes 1.36). A rejection is therefore final only if the server was ready before the attempt.
// /readyz fails until the informers of the authorizer have read everything
// (https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/server/config.go, NewInformerSyncHealthz), and everybody
// may read it (.../options/authorization.go, AlwaysAllowPaths).

// readyTime is the maximum duration of a request for /readyz.
const readyTime = 5 * time.Second

// starting reports whether the server may have rejected an attempt, which began at the given time, because it was not
// ready. A server that does not say so is ready.
func (r *retrier) starting(ctx context.Context, began time.Time) bool {
	if r.health.readyAt(began) {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := r.clock.AfterFunc(readyTime, cancel)
	defer limit.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.readyz, nil)
	if err != nil {
		return false
	}
	response, err := r.next.RoundTrip(request)
	if err != nil {
		return true
	}
	_ = response.Body.Close()
	if response.StatusCode < http.StatusInternalServerError {
		r.health.noteReady(r.clock.Now())
	}
	return true // it may have become ready since the attempt
}
