package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// fakeChanges reports changes when the test sends them.
type fakeChanges struct {
	changed    chan<- struct{}
	refreshed  int
	subscribed int // and not ended
}

func (f *fakeChanges) Subscribe(_ kube.Kind, _ string, _ func(*kube.Entry) bool, changed chan<- struct{}) func() {
	f.changed = changed
	f.subscribed++
	return func() { f.subscribed-- }
}

func (f *fakeChanges) RefreshOld(context.Context, kube.Kind, string) { f.refreshed++ }

func TestUntilChecksAgainAfterAnyChange(t *testing.T) {
	t.Parallel()
	fake := &fakeChanges{}
	watch := &Objects{Changes: fake, Of: AllOf(kind.Pod())}
	checks := 0
	got, err := Until(t.Context(), &kubetest.Clock{}, watch, func() (Step[int], error) {
		fake.changed <- struct{}{} // without it, the wait never checks again
		if checks++; fake.subscribed != 1 {
			t.Errorf("%d subscriptions during check %d", fake.subscribed, checks)
		}
		return Step[int]{Value: checks, Done: checks == 3}, nil
	})
	if err != nil || got != 3 || fake.refreshed != 2 || fake.subscribed != 0 {
		t.Errorf("%d, %v after %d refreshes, and %d subscriptions are left", got, err, fake.refreshed, fake.subscribed)
	}
}

func TestUntilChecksAgainWithoutAChange(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]Step[string]{
		"immediately":    {Again: true},
		"after a second": {Within: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock, checks := &kubetest.Clock{}, 0
			_, err := Until(t.Context(), clock, &Objects{}, func() (Step[string], error) {
				checks++
				if checks > 1 {
					return Step[string]{Done: true}, nil
				}
				return step, nil
			})
			if err != nil || checks != 2 || clock.Skipped() < step.Within {
				t.Errorf("%v after %d checks and %v", err, checks, clock.Skipped())
			}
		})
	}
}

func TestUntilToleratesAnOutageOfTheServer(t *testing.T) {
	t.Parallel()
	outage := &kube.Error{Class: kube.Unreachable, Err: errors.New("connection refused")}
	denied := &kube.Error{Class: kube.Denied, Err: errors.New("forbidden")}
	for name, test := range map[string]struct {
		err      error
		failures int
		want     error
	}{
		"a short outage": {outage, 3, nil},
		"a long outage":  {outage, 1 << 30, outage},
		"another error":  {denied, 1, denied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checks := 0
			got, err := Until(t.Context(), &kubetest.Clock{}, &Objects{}, func() (Step[string], error) {
				checks++
				switch {
				case checks == 1:
					return Step[string]{Value: "seen", Again: true}, nil
				case checks <= test.failures+1:
					return Step[string]{}, test.err
				}
				return Step[string]{Value: "done", Done: true}, nil
			})
			if want := map[bool]string{true: "done", false: "seen"}[test.want == nil]; !errors.Is(err, test.want) ||
				got != want {
				t.Errorf("%q, %v after %d checks; want %q, %v", got, err, checks, want, test.want)
			}
		})
	}
}

func TestUntilEndsWithItsContextAndReturnsThePreviousValue(t *testing.T) {
	t.Parallel()
	for name, interrupted := range map[string]error{"during a check": errors.New("interrupted"),
		"between checks": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cause := errors.New("time is up")
			ctx, cancel := context.WithCancelCause(t.Context())
			checks := 0
			got, err := Until(ctx, &kubetest.Clock{}, &Objects{}, func() (Step[int], error) {
				checks++
				if checks == 2 || interrupted == nil {
					cancel(cause)
				}
				if checks == 2 {
					return Step[int]{Value: checks}, interrupted
				}
				return Step[int]{Value: checks, Again: true}, nil
			})
			want, value := cause, 0
			if interrupted != nil {
				want, value = interrupted, 1
			}
			if !errors.Is(err, want) || got != value {
				t.Errorf("%d, %v; want %d, %v", got, err, value, want)
			}
		})
	}
}

func TestOutageIsToleratedForALimitedTime(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	outage := &kube.Error{Class: kube.Unreachable, Err: errors.New("connection refused")}
	denied := &kube.Error{Class: kube.Denied, Err: errors.New("forbidden")}
	type check struct {
		after  time.Duration
		err    error
		passes bool
	}
	for name, checks := range map[string][]check{
		"reachable":                    {{0, nil, false}},
		"a rejection is not an outage": {{0, denied, false}},
		"shorter than the limit":       {{0, outage, true}, {maxAbsence - 1, outage, true}},
		"as long as the limit":         {{0, outage, true}, {maxAbsence, outage, false}},
		"two outages": {{0, outage, true}, {maxAbsence - 1, nil, false}, {maxAbsence, outage, true},
			{2*maxAbsence - 1, outage, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var away absence
			for _, check := range checks {
				if got := away.passes(check.err, start.Add(check.after)); got != check.passes {
					t.Errorf("after %v: passes %v, want %v", check.after, got, check.passes)
				}
			}
		})
	}
}

func TestIntervalBetweenChecks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		left    time.Duration
		watched bool
		want    time.Duration
	}{
		"a watch may have lost changes":                      {0, true, kube.RelistTime},
		"a watch, within the grace period":                   {time.Second, true, time.Second},
		"a negative rest is ignored":                         {-time.Minute, true, kube.RelistTime},
		"without a watch":                                    {0, false, getInterval},
		"without a watch, within the grace period":           {time.Minute, false, getInterval},
		"without a watch, until the end of the grace period": {time.Second, false, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := within(test.left, test.watched); got != test.want {
				t.Errorf("pause %v, want %v", got, test.want)
			}
		})
	}
}
