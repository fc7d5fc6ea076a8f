package tf

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// Failure turns an error of the cluster into a diagnostic that says what was
// seen and what to do.
func Failure(err error) diag.Diagnostic {
	return diag.NewErrorDiagnostic(explain(err))
}

// Caution is Failure as a warning.
func Caution(err error, consequence string) diag.Diagnostic {
	summary, detail := explain(err)
	return diag.NewWarningDiagnostic(summary, detail+"\n\n"+consequence)
}

func explain(err error) (summary, detail string) {
	var request *kube.Error
	var notReady *kube.NotReadyError
	var deletion *kube.DeletionError
	var config *kube.ConfigError
	switch {
	case errors.As(err, &notReady):
		return explainNotReady(notReady)
	case errors.As(err, &deletion):
		return "Deletion has not finished", deletion.Error() + why(deletion.Err) +
			fmt.Sprintf("\n\nLook with:\n  kubectl get %s %s -n %s -o jsonpath='{.metadata.finalizers}'",
				deletion.Ref.Kind.Resource, deletion.Ref.Name, deletion.Ref.Namespace)
	case errors.As(err, &request):
		return request.Explain()
	case errors.As(err, &config):
		return "The provider is not configured for a cluster", config.Error()
	default:
		return "The provider could not finish", err.Error()
	}
}

func explainNotReady(e *kube.NotReadyError) (summary, detail string) {
	summary = fmt.Sprintf("%s is not ready: %s", e.Ref, e.Verdict.Message)
	if e.Verdict.Message == "" {
		summary = fmt.Sprintf("%s is not ready", e.Ref)
	}
	if e.Verdict.Cause == nil {
		return summary, "No cause was found that waiting cannot heal." + why(e.Err) +
			fmt.Sprintf("\n\nLook with:\n  kubectl describe %s %s -n %s", e.Ref.Kind.Resource, e.Ref.Name, e.Ref.Namespace)
	}
	return fmt.Sprintf("%s is not ready: %s", e.Ref, e.Verdict.Cause.Reason),
		ready.Explain(e.Verdict.Cause, e.Logs) + why(e.Err)
}

func why(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "\n\nThe wait was interrupted."
	case errors.Is(err, context.DeadlineExceeded):
		return "\n\nThe time to wait is up; launch_timeout and timeouts set it."
	default:
		return "\n\n" + err.Error()
	}
}
