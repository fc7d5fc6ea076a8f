package tf

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Failure converts an error of the cluster to a diagnostic with the cause and the
// next step. For an outage that the run has already reported, the detail is brief.
func Failure(err error) diag.Diagnostic {
	summary, detail := explain(err)
	if other, ok := errors.AsType[explainer](err); ok {
		if failed, ok := other.(*kube.Error); ok {
			if brief, again := failed.Again(); again {
				detail = brief
			}
		}
	}
	return diag.NewErrorDiagnostic(summary, detail)
}

// Warning converts an error to a warning that also states its consequence.
func Warning(err error, consequence string) diag.Diagnostic {
	summary, detail := explain(err)
	return diag.NewWarningDiagnostic(summary, detail+"\n\n"+consequence)
}

// explainer is an error that provides its own summary and cause.
type explainer interface {
	error
	Explain() (summary string, cause ready.Cause)
}

func explain(err error) (summary, detail string) {
	var (
		notReady *observe.NotReadyError
		deletion *observe.DeletionError
		config   *config.Error
		other    explainer
	)
	switch {
	case errors.As(err, &notReady):
		return explainNotReady(notReady)
	case errors.As(err, &deletion):
		return explainDeletion(deletion)
	case errors.As(err, &other):
		summary, cause := other.Explain()
		resourceType := ComputeType
		if failed, ok := errors.AsType[*kube.Error](err); ok {
			resourceType = typeOf(failed.Ref.Kind)
		}
		if used, ok := errors.AsType[*observe.InUseError](err); ok {
			resourceType = typeOf(used.Claim.Kind)
		}
		return summary, Explain(resourceType, cause, nil)
	case errors.As(err, &config):
		return "The provider is not configured for a cluster", config.Error()
	default:
		return "Unexpected error", err.Error()
	}
}

func explainNotReady(e *observe.NotReadyError) (summary, detail string) {
	if e.Verdict.Cause != nil {
		cause := *e.Verdict.Cause
		cause.Summary += endOfWait(e.Err)
		return fmt.Sprintf("%s is not ready: %s", e.Ref, lowercaseWords(cause.Reason)),
			Explain(typeOf(e.Ref.Kind), cause, e.Logs)
	}
	observed := "No status was reported, and no permanent failure was detected."
	if e.Verdict.Message != "" {
		observed = fmt.Sprintf("Last status: %s. No permanent failure was detected.", e.Verdict.Message)
	}
	cause := ready.Cause{
		Summary: strings.TrimSpace(endOfWait(e.Err) + " " + observed),
		Object:  e.Ref.String(),
		Command: e.Ref.Kubectl("describe"),
	}
	if limit, ok := errors.AsType[timeLimitError](e.Err); ok {
		cause.Hint = advice.Of("If it only needs more time, increase `%s`.", limit.attribute)
	}
	return fmt.Sprintf("%s is not ready", e.Ref), Explain(typeOf(e.Ref.Kind), cause, nil)
}

func explainDeletion(e *observe.DeletionError) (summary, detail string) {
	again := advice.Of("Run the destroy or apply again to continue waiting.")
	cause := ready.Cause{
		Summary: fmt.Sprintf("The object is being deleted, but %s.%s", e.Blockers(), endOfWait(e.Err)),
		Object:  e.Ref.String(),
		Hint:    again,
		Command: e.Ref.Kubectl("get", "-o", "yaml"),
	}
	blocking := slices.IndexFunc(e.Pods, func(pod *corev1.Pod) bool { return len(pod.Finalizers) > 0 })
	switch {
	case e.Ref.Kind.GroupKind() == kind.ClusterQueue("").GroupKind():
		cause.Hint = advice.Of("Kueue keeps the ClusterQueue until no workload has reserved quota. Delete the "+
			"workloads. %s To evict them, apply `stop_policy = \"HoldAndDrain\"` before a destroy.", again)
		cause.Command = ready.Kubectl("", "get", kind.KueueWorkload("").Argument(), "-A", "-o", "wide")
	case e.Ref.Kind.GroupKind() == kind.ResourceFlavor("").GroupKind():
		cause.Hint = advice.Of("A ClusterQueue still uses the flavor. Remove it from the quotas of all queues. %s",
			again)
	case len(e.Finalizers) > 0 || blocking >= 0:
		cause.Hint = advice.Of("Check that the controller that removes the finalizer is running. %s", again)
	}
	if len(e.Pods) > 0 && len(e.Finalizers) == 0 {
		cause.Command = ready.Kubectl(e.Ref.Namespace, "get", "pod", e.Pods[max(blocking, 0)].Name, "-o", "yaml")
	}
	return fmt.Sprintf("%s is still being deleted", e.Ref), Explain(typeOf(e.Ref.Kind), cause, nil)
}

// endOfWait returns a sentence, after a space, with the reason why a wait ended, or "" if err is nil.
func endOfWait(err error) string {
	var limit timeLimitError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return " The wait was interrupted."
	case errors.As(err, &limit):
		return " " + limit.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return " Timed out."
	default:
		return " " + err.Error()
	}
}

// WithTimeLimit is like [context.WithTimeout]. The error of the context names the attribute that sets the limit.
func WithTimeLimit(ctx context.Context, limit time.Duration, attribute string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, timeLimitError{limit: limit, attribute: attribute})
}

// timeLimitError reports that a timeout that an attribute sets has expired.
type timeLimitError struct {
	limit     time.Duration
	attribute string
}

func (l timeLimitError) Error() string {
	return fmt.Sprintf("Timed out after %s (`%s`).", manifest.FormatDuration(l.limit), l.attribute)
}

func (l timeLimitError) Is(target error) bool { return target == context.DeadlineExceeded }

// lowercaseWords formats a reason such as ImagePullFailed as "image pull failed".
func lowercaseWords(reason string) string {
	words := regexp.MustCompile(`\p{Lu}`).ReplaceAllString(reason, " $0")
	return strings.ToLower(strings.TrimPrefix(words, " "))
}
