// Package detach calls functions that do not end with a context.
package detach

import "context"

// Call returns the results of f, or the cause of ctx if ctx ends first. f then continues, and discard, unless nil,
// is called with a result that arrives later.
func Call[T any](ctx context.Context, f func() (T, error), discard func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result)
	go func() {
		value, err := f()
		select {
		case done <- result{value, err}:
		case <-ctx.Done():
			if err == nil && discard != nil {
				discard(value)
			}
		}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
