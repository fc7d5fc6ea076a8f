// Package observe determines the state of workloads, claims, queues and GPUs in
// a cluster, waits for it, and predicts what blocks it.
package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

// logLines is the number of log lines of a crashed container in an error.
const logLines = 20

// NotReadyError reports why a workload did not become ready.
type NotReadyError struct {
	Ref     kube.Ref
	Verdict ready.Verdict
	// Logs are the last lines of the container of the cause.
	Logs []string
	// Err is the reason for the end of the wait, unless the cause ended it: a
	// timeout or an interrupt.
	Err error
}

func (e *NotReadyError) Error() string {
	return fmt.Sprintf("%s is not ready: %s", e.Ref, e.Verdict.Message)
}

func (e *NotReadyError) Unwrap() error { return e.Err }

// IsPermanent reports whether err, from the end of a wait, is permanent: a
// permanent cause, or a deleted object. A timeout, an interrupt and problems of
// the API server are not.
func IsPermanent(err error) bool {
	if e, ok := errors.AsType[*NotReadyError](err); ok {
		return e.Err == nil && isTerminal(e.Verdict)
	}
	return kube.IsNotFound(err)
}

func isTerminal(v ready.Verdict) bool { return v.Cause != nil && v.Cause.Terminal }

// waitFor calls observe until the verdict is settled or permanent. Each call
// returns the objects whose changes may affect the next one. watched reports
// whether the changes of ref are received.
func waitFor(
	ctx context.Context, c *kube.Cluster, ref kube.Ref, watched func(kube.Ref) bool, settled func(ready.Verdict) bool,
	observe func() (ready.Verdict, []Interest, error),
) (ready.Verdict, error) {
	var seen firstSeen
	watch := &Objects{Changes: c.Store, Namespace: ref.Namespace, Of: AllOf(ref.Kind)}
	verdict, err := Until(ctx, c.Clock(), watch, func() (Step[ready.Verdict], error) {
		verdict, concerned, err := observe()
		if err != nil || settled(verdict) {
			return Step[ready.Verdict]{Value: verdict, Done: true}, err
		}
		left, terminal := seen.left(verdict.Cause, c.Clock().Now())
		if terminal && left <= 0 && !refuted(ctx, c, ref, verdict.Cause) {
			return Step[ready.Verdict]{Value: verdict, Done: true}, nil
		}
		more := !watch.covers(concerned)
		if more {
			watch.Of = concerned
		}
		return Step[ready.Verdict]{Value: verdict, Again: more, Within: within(left, watched(ref))}, nil
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return verdict, notReady(ctx, c, ref, verdict, context.Cause(ctx))
	case kube.IsServerFailure(err):
		return verdict, &UnobservedError{Ref: ref, Last: verdict, Err: err}
	// It was deleted by its time to live, or by the history limit of a CronJob.
	case kube.IsNotFound(err) && verdict.Succeeds:
		verdict.Complete = true
		return verdict, nil
	case kube.IsNotFound(err) && kind.WorkloadOf(ref.Kind.GroupKind()).Ends && isTerminal(verdict):
		return verdict, notReady(ctx, c, ref, verdict, nil)
	case err != nil:
		return verdict, err
	case !settled(verdict):
		return verdict, notReady(ctx, c, ref, verdict, nil)
	}
	return verdict, nil
}

// UnobservedError ends a wait after an outage of maxAbsence. The state of the
// object is unknown; it may still become ready.
type UnobservedError struct {
	Ref kube.Ref
	// Last is the last verdict, or the zero value.
	Last ready.Verdict
	Err  error // error of the server
}

func (e *UnobservedError) Error() string {
	return fmt.Sprintf("%s could not be observed for %v: %v", e.Ref, maxAbsence, e.Err)
}

func (e *UnobservedError) Unwrap() error { return e.Err }

// Explain returns the summary of a diagnostic, and as the cause the last known
// status with the problem of the API server.
func (e *UnobservedError) Explain() (summary string, cause ready.Cause) {
	cause.Summary = e.Err.Error()
	if failed, ok := errors.AsType[*kube.Error](e.Err); ok {
		_, cause = failed.Explain()
	}
	last := "No status was observed before."
	if e.Last.Message != "" {
		last = "Last observed status: " + e.Last.Message + "."
	}
	cause.Summary = fmt.Sprintf("The API server has not reported the status for %v. %s The API server or the "+
		"connection to it fails, not the object.\n\n%s", maxAbsence, last, cause.Summary)
	cause.Object = e.Ref.String()
	return fmt.Sprintf("Unknown status of %s", e.Ref), cause
}

// notReady returns the error, with the log lines of its cause unless the run was interrupted. Values of Secrets are
// masked as far as that is possible; the last line says what could not be masked. The context of the run may have
// ended, so all this has a short separate timeout.
func notReady(ctx context.Context, c *kube.Cluster, ref kube.Ref, verdict ready.Verdict, cause error) error {
	e := &NotReadyError{Ref: ref, Verdict: verdict, Err: cause}
	if verdict.Cause == nil || verdict.Cause.Logs == nil {
		return e
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), config.DialTimeout)
	defer cancel()
	logs := verdict.Cause.Logs
	pod, err := kube.PodNow(ctx, c.API, logs.Namespace, logs.Pod)
	// If the container was restarted since the cause, its log is now that of the previous run.
	ended := logs.Previous || err == nil && ready.StatusOf(pod, logs.Container).RestartCount > logs.Restarts
	var mask Mask
	if err == nil {
		mask, err = NewSecrets(c).Mask(ctx, logs.Namespace, &pod.Spec, ready.StartsOf(pod))
	}
	if err != nil && c.RequiresMaskedLogs() {
		return e.Masked(nil, fmt.Sprintf("Container %s failed. Its output is not shown, because values of Secrets "+
			"cannot be masked: %v.", logs.Container, err))
	}
	for _, previous := range []bool{ended, !ended} { // the log of the other run is better than none
		if len(e.Logs) == 0 && !errors.Is(cause, context.Canceled) {
			// Without permission to read the log, it is omitted.
			e.Logs, _ = c.API.Logs(ctx, logs.Namespace, logs.Pod, logs.Container, previous, logLines)
		}
	}
	if mask != nil {
		e = e.Masked(mask, "")
	}
	if err != nil {
		e.Logs = append(e.Logs, fmt.Sprintf("(values of Secrets cannot be masked: %v)", err))
	}
	return e
}

// Masked returns the error with a mask over what quotes the output of containers: their log, the last message of one
// that ended, and the reports of probes in events. Without a mask, the summary is replaced, and the rest is omitted.
func (e *NotReadyError) Masked(mask Mask, summary string) *NotReadyError {
	masked, cause := *e, *e.Verdict.Cause
	masked.Verdict.Cause, masked.Logs, cause.Events = &cause, nil, nil
	if mask == nil {
		cause.Summary = summary
		return &masked
	}
	cause.Summary = mask(cause.Summary)
	cause.Events = kind.Each(e.Verdict.Cause.Events, mask)
	masked.Logs = kind.Each(e.Logs, func(line string) string {
		return mask(printable.Line(mask(line))) // a control sequence in a value would hide it from the mask
	})
	return &masked
}

// firstSeen contains the last cause, and the start of its uninterrupted
// observation.
type firstSeen struct {
	cause string
	since time.Time
}

// left returns the rest of the grace period, and whether the cause is permanent
// after it.
func (f *firstSeen) left(cause *ready.Cause, now time.Time) (time.Duration, bool) {
	if cause == nil {
		*f = firstSeen{}
		return 0, false
	}
	if key := cause.Key(); f.cause != key {
		*f = firstSeen{cause: key, since: now}
	}
	return cause.Grace - now.Sub(f.since), cause.Terminal
}
