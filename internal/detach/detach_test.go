package detach

import (
	"context"
	"errors"
	"testing"
)

func TestResultsOfTheFunctionAreReturned(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	got, err := Call(t.Context(), func() (int, error) { return 7, failed }, nil)
	if got != 7 || !errors.Is(err, failed) {
		t.Errorf("%d, %v", got, err)
	}
}

func TestContextEndsTheCallAndALateResultIsDiscarded(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]error{"result": nil, "error": errors.New("late")} {
		cause := errors.New("the run was interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		called, proceed, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		discarded := make(chan int, 1)
		go func() {
			<-called
			cancel(cause)
		}()
		got, err := Call(ctx, func() (int, error) {
			defer close(ended)
			close(called)
			<-proceed
			return 7, late
		}, func(value int) { discarded <- value })
		if got != 0 || !errors.Is(err, cause) {
			t.Errorf("%s: %d, %v", name, got, err)
		}
		close(proceed)
		<-ended
		if late == nil && <-discarded != 7 {
			t.Errorf("%s: another value was discarded", name)
		}
	}
}
