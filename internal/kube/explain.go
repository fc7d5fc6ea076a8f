package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/kube/transport"
)

// Explain returns the summary of a diagnostic, and the cause with the next
// step.
func (e *Error) Explain() (summary string, cause ready.Cause) {
	summary, cause = e.explanation()
	if e.OutcomeUnknown {
		cause.Summary += outcomeUnknown
	}
	return summary, cause
}

func (e *Error) explanation() (summary string, cause ready.Cause) {
	kind, namespace, object := e.Ref.Kind, e.Ref.namespace(), e.Ref
	cause.Summary = e.Err.Error()
	var status apierrors.APIStatus
	if errors.As(e.Err, &status) {
		cause.Summary = "Response of the API server: " + cause.Summary
	}
	switch e.Class {
	case NamespaceMissing:
		cause.Hint = advice.Of("%s, for example with `kubectl create namespace %s`, or correct the namespace.",
			advice.CreateFirst, namespace)
		cause.Command = "kubectl get namespaces"
		return fmt.Sprintf("Namespace %q does not exist", namespace), cause
	case KindMissing:
		cause.Hint = toInstall(kind)
		cause.Command = ready.Kubectl("", "api-resources", "--api-group="+kind.Group)
		return "The cluster does not serve " + kind.Word(), cause
	case Unauthorized:
		cause.Hint = advice.Of("Renew the token or certificate. It is missing, invalid or expired.")
		cause.Command = "kubectl auth whoami"
		return "The API server rejected the credentials", cause
	case Denied:
		cause.Hint = advice.Of("Grant the permission to the user of the provider (kubectl --as), or use another user.")
		cause.Command = strings.TrimSuffix("kubectl auth can-i --list -n "+namespace, " -n ")
		if isAnonymous(e.Err) {
			cause.Hint, cause.Command = advice.Of("Set the token of the provider: the request had no credentials."), ""
		}
		return fmt.Sprintf("No permission to %s %s", e.Op, object), cause
	case Refused:
		why := refusal(namespace, e.Err.Error())
		cause.Hint, cause.Command = why.Hint, why.Command
		return fmt.Sprintf("The API server rejected %s", object), cause
	case PodsRefused:
		return fmt.Sprintf("The API server would reject the pods of %s", object),
			refusal(namespace, rejectedPods(e.Err.Error()))
	case Invalid, Immutable:
		if len(e.Fields) > 0 {
			cause.Summary = "The API server rejected these fields:"
		}
		for _, f := range e.Fields {
			cause.Summary += fmt.Sprintf("\n  %s: %s", f.Field, f.Message)
		}
		cause.Hint = advice.Of("Correct %s.", advice.Rejected)
		if e.Class == Immutable {
			cause.Hint = advice.Of("%s, or restore the previous value of the field. Kubernetes does not allow "+
				"changing it.", advice.ReplaceObject)
		}
		isMinimum := func(f FieldCause) bool { return f.Field == "spec.minReplicas" }
		if kind.Kind == "HorizontalPodAutoscaler" && slices.ContainsFunc(e.Fields, isMinimum) {
			cause.Hint = advice.Of("Set %s to at least 1, or enable the feature gate HPAScaleToZero of the API server.",
				advice.MinScale)
		}
		if features := knativeFeatures(e.Fields); len(features) > 0 {
			cause.Hint = advice.Of("Set to `enabled` in the ConfigMap config-features of Knative: %s. Or correct %s.",
				strings.Join(features, ", "), advice.Rejected)
			cause.Command = ready.Kubectl("knative-serving", "get", "configmap", "config-features", "-o", "yaml")
		}
		return fmt.Sprintf("%s is not valid", object), cause
	case Conflict:
		cause.Hint = advice.Of("Run the command again.")
		return fmt.Sprintf("Another client changed %s at the same time", object), cause
	case Unreachable:
		return e.unreachable()
	case Canceled:
		cause.Summary = fmt.Sprintf("Operation in progress: %s", attempt(e.Err))
		if errors.Is(e.Err, context.DeadlineExceeded) {
			cause.Hint = advice.Of("Increase %s, or check why the API server is slow.", advice.TimeLimit)
			cause.Command = ready.CheckServer
			return fmt.Sprintf("Timeout of the request to %s %s", e.Op, object), cause
		}
		return fmt.Sprintf("Interrupted: %s %s", e.Op, object), cause
	case Misconfigured:
		if config, ok := errors.AsType[*config.Error](e.Err); ok {
			cause.Summary = config.Error()
		}
		return "The provider is not configured for a cluster", cause
	case NotFound:
		return fmt.Sprintf("%s does not exist", object), cause
	default:
		switch {
		case transport.WebhookFails(e.Err.Error()):
			why := refusal(namespace, e.Err.Error())
			cause.Hint, cause.Command = why.Hint, why.Command
		case status != nil && status.Status().Code >= http.StatusInternalServerError:
			cause.Hint = advice.Of("Run the command again: an internal error of the API server is often temporary. " +
				"If it persists, check the API server and its storage.")
			cause.Command = ready.CheckServer
		}
		return fmt.Sprintf("Could not %s %s", e.Op, object), cause
	}
}

// refusal explains a rejection by admission, with a command in any case.
func refusal(namespace, message string) ready.Cause {
	why := ready.Refusal(namespace, message)
	why.Command = cmp.Or(why.Command, ready.Kubectl(namespace, "describe", "resourcequota,limitrange"))
	return why
}

// toInstall returns the next step that makes the cluster serve a kind.
func toInstall(missing Kind) advice.Text {
	name := kind.Operator(missing.Group)
	if name == "" && !missing.Custom() {
		return advice.Of("Install its operator or its CRD. For a kind of Kubernetes, correct %s: it is not the "+
			"address of an API server.", advice.APIServer)
	}
	crd := cmp.Or(missing.Resource, kind.Guess(missing.GroupVersionKind).Resource) + "." + missing.Group
	hint := advice.Of("Install %s, which provides the required CRD %s with version %s.", cmp.Or(name, "its operator"),
		crd, missing.Version)
	if missing.Group == kind.KnativeGroup {
		return advice.Of("%s To scale without Knative, %s.", hint, advice.ScaleOtherwise)
	}
	return hint
}

// Again explains an outage in one line if a previous error of the run has
// explained it in full. Otherwise, and for other errors, ok is false.
func (e *Error) Again() (detail string, ok bool) {
	if e.Class != Unreachable || e.explained == nil {
		return "", false
	}
	if _, repeated := e.explained.LoadOrStore(withoutRequest(e.Err), true); !repeated {
		return "", false
	}
	detail = fmt.Sprintf("The request to %s %s failed: %s. Another error of this run contains the details.", e.Op,
		e.Ref, attempt(e.Err))
	if e.OutcomeUnknown {
		detail += outcomeUnknown
	}
	return detail, true
}

const outcomeUnknown = "\n\nIt is unknown whether the server executed the request. Reading the object again shows " +
	"its current state."

// withoutRequest returns an error without its request.
func withoutRequest(err error) string {
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err.Error()
	}
	return err.Error()
}

func (e *Error) unreachable() (summary string, cause ready.Cause) {
	var status apierrors.APIStatus
	if errors.As(e.Err, &status) && fromAPI(status.Status()) {
		return "The Kubernetes API server is temporarily unavailable", ready.Cause{
			Summary: fmt.Sprintf("The API server rejected the request to %s %s: %v", e.Op, e.Ref, e.Err),
			Hint: advice.Of("Run the command again later. The API server is starting, overloaded or cannot reach its " +
				"storage."),
			Command: ready.CheckServer,
		}
	}
	return "The Kubernetes API server cannot be reached", ready.Cause{
		Summary: fmt.Sprintf("The request to %s %s failed: %s", e.Op, e.Ref, attempt(e.Err)),
		Hint:    advice.Of("Check %s, the network and the certificate of the server.", advice.APIServer),
		Command: "kubectl cluster-info",
	}
}

// attempt formats a failed request and its error, without its long query.
func attempt(err error) string {
	var request *url.Error
	if !errors.As(err, &request) {
		return err.Error()
	}
	target, parseErr := url.Parse(request.URL)
	if parseErr != nil {
		return err.Error()
	}
	target.RawQuery = ""
	return fmt.Sprintf("%s %s: %v", strings.ToUpper(request.Op), target.Redacted(), request.Err)
}
