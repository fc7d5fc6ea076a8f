package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// Explain returns the summary and the detail of a diagnostic. The detail has
// the form of [ready.Explain].
func (e *Error) Explain() (summary, detail string) {
	summary, cause := e.Explanation()
	if e.OutcomeUnknown {
		cause.Summary += "\n\n" + outcomeUnknown
	}
	return summary, ready.Explain(&cause, nil)
}

// Explanation returns the summary of a diagnostic and the cause that its detail
// states.
func (e *Error) Explanation() (summary string, cause ready.Cause) {
	kind, namespace := e.Kind.Word(), e.namespace()
	object := strings.TrimSuffix(e.Object, "/")
	cause.Summary = e.Err.Error()
	var status apierrors.APIStatus
	if errors.As(e.Err, &status) {
		cause.Summary = "Response of the API server: " + cause.Summary
	}
	switch e.Class {
	case NamespaceMissing:
		cause.Hint = fmt.Sprintf("Create it first (`kubectl create namespace %s`), or in the same configuration with "+
			"depends_on, or correct `namespace`.", namespace)
		cause.Command = "kubectl get namespaces"
		return fmt.Sprintf("Namespace %q does not exist", namespace), cause
	case KindMissing:
		cause.Hint = toInstall(e.Kind)
		cause.Command = "kubectl api-resources | grep -i " + strings.ToLower(e.Kind.Kind)
		if group := e.Kind.Group; strings.Contains(group, ".") {
			cause.Command = "kubectl api-resources --api-group=" + group
		}
		return "The cluster does not serve " + kind, cause
	case Unauthorized:
		cause.Hint = "Renew the token or certificate. It is missing, invalid or expired."
		cause.Command = "kubectl auth whoami"
		return "The API server rejected the credentials", cause
	case Denied:
		cause.Hint = "Grant the permission to the user of the provider, or use another user."
		cause.Command = strings.TrimSuffix("kubectl auth can-i --list -n "+namespace, " -n ")
		return fmt.Sprintf("No permission to %s %s", e.Op, object), cause
	case Refused:
		cause.Hint, cause.Command = refusal(e.Err.Error(), namespace)
		return fmt.Sprintf("The API server rejected %s", object), cause
	case Invalid, Immutable:
		if list := e.fieldList(); list != "" {
			cause.Summary = "The API server rejected these fields:" + list
		}
		cause.Hint = "Correct the attribute that sets the field, `manifest` or `service_template`."
		if e.Class == Immutable {
			cause.Hint = "Replace the compute (`terraform apply -replace=ADDRESS`), or restore the previous value of the " +
				"field. Kubernetes does not allow changing it."
		}
		return fmt.Sprintf("%s is not valid", object), cause
	case Conflict:
		cause.Hint = "Run the plan again."
		return fmt.Sprintf("Another client changed %s at the same time", object), cause
	case Unreachable:
		return e.unreachable(object)
	case Canceled:
		cause.Summary = fmt.Sprintf("Operation in progress: %s", attempt(e.Err))
		if errors.Is(e.Err, context.DeadlineExceeded) {
			cause.Hint = "Increase `timeouts`, or check why the API server is slow."
			cause.Command = "kubectl get --raw '/readyz?verbose'"
			return fmt.Sprintf("Timeout of the request to %s %s", e.Op, object), cause
		}
		return fmt.Sprintf("Interrupted: %s %s", e.Op, object), cause
	case Misconfigured:
		cause.Summary = e.Err.Error()
		if config, ok := errors.AsType[*config.Error](e.Err); ok {
			cause.Summary = config.Error()
		}
		return "The provider is not configured for a cluster", cause
	case NotFound:
		return fmt.Sprintf("%s does not exist", object), cause
	default:
		cause.Hint, cause.Command = otherFailure(e.Err)
		return fmt.Sprintf("Could not %s %s", e.Op, object), cause
	}
}

// namespace returns the namespace of the object, or "".
func (e *Error) namespace() string {
	namespace, _, namespaced := strings.Cut(strings.TrimPrefix(e.Object, e.Kind.Word()+" "), "/")
	if !namespaced {
		return ""
	}
	return namespace
}

// toInstall returns the next step that makes the cluster serve a kind.
func toInstall(missing Kind) string {
	name := kind.Operator(missing.Group)
	switch {
	case name == "" && !missing.Custom():
		return "Install its operator or its CRD. For a kind of Kubernetes, correct `host` of the provider: it is not the " +
			"address of an API server."
	case name == "":
		name = "its operator"
	}
	crd := cmp.Or(missing.Resource, strings.ToLower(missing.Kind)+"s") + "." + missing.Group
	return fmt.Sprintf("Install %s, which provides the required CRD %s with version %s.", name, crd, missing.Version)
}

// Again explains an outage in one line if a previous error of the run has
// explained it in full. Otherwise, and for other errors, ok is false.
func (e *Error) Again() (detail string, ok bool) {
	if e.Class != Unreachable || !e.told.repeated(cutShort(e.Err)) {
		return "", false
	}
	detail = fmt.Sprintf("The request to %s %s failed: %s. Another error of this run contains the details.", e.Op,
		strings.TrimSuffix(e.Object, "/"), attempt(e.Err))
	if e.OutcomeUnknown {
		detail += "\n\n" + outcomeUnknown
	}
	return detail, true
}

const outcomeUnknown = "It is unknown whether the server executed the request. The next plan shows the current state."

// cutShort returns an error without its request.
func cutShort(err error) string {
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err.Error()
	}
	return err.Error()
}

func (e *Error) unreachable(object string) (summary string, cause ready.Cause) {
	var status apierrors.APIStatus
	if errors.As(e.Err, &status) && fromAPI(status.Status()) {
		return "The Kubernetes API server is temporarily unavailable", ready.Cause{
			Summary: fmt.Sprintf("The API server rejected the request to %s %s: %v", e.Op, object, e.Err),
			Hint:    "Run the command again later. The API server is starting, overloaded or cannot reach its storage.",
			Command: "kubectl get --raw '/readyz?verbose'",
		}
	}
	return "The Kubernetes API server cannot be reached", ready.Cause{
		Summary: fmt.Sprintf("The request to %s %s failed: %s", e.Op, object, attempt(e.Err)),
		Hint:    "Check `host` or the kubeconfig of the provider, the network and the certificate of the server.",
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

// Messages of admission plugins of the API server
// (plugin/pkg/admission/resourcequota,
// apiserver/pkg/admission/plugin/{policy,webhook}). They only select the next
// step.
var (
	byQuota      = regexp.MustCompile(`exceeded quota: ([^,]+),`)
	byPolicy     = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)'`)
	byWebhook    = regexp.MustCompile(`admission webhook "[^"]+" denied`)
	terminating  = regexp.MustCompile(`because it is being terminated`)
	webhookFails = regexp.MustCompile(`failed calling webhook "[^"]+"`)
)

const listWebhooks = "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"

// refusal returns the next step and the command for a rejection by admission.
func refusal(message, namespace string) (hint, command string) {
	if m := byQuota.FindStringSubmatch(message); m != nil {
		return "Request less, free resources in the namespace, or request a higher quota.",
			fmt.Sprintf("kubectl -n %s describe resourcequota %s", namespace, m[1])
	}
	if m := byPolicy.FindStringSubmatch(message); m != nil {
		return "Change the fields that the message of the policy reports, or contact its administrator.",
			"kubectl describe validatingadmissionpolicy " + m[1]
	}
	switch {
	case byWebhook.MatchString(message):
		return "Change the fields that the message of the webhook reports, or contact its administrator.", listWebhooks
	case terminating.MatchString(message):
		return "Wait until the namespace is deleted and create it again, or use another namespace.",
			fmt.Sprintf("kubectl get namespace %s -o yaml", namespace)
	}
	return "Change the fields that the message reports. A quota, a policy or another admission step of the cluster " +
			"forbids them.",
		fmt.Sprintf("kubectl -n %s describe resourcequota,limitrange", namespace)
}

// otherFailure returns the next step and the command for a failure of the class
// Other.
func otherFailure(err error) (hint, command string) {
	var status apierrors.APIStatus
	switch {
	case webhookFails.MatchString(err.Error()):
		return "Run the command again, or contact the administrator of the webhook: it does not respond.", listWebhooks
	case errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError:
		return "Run the command again: an internal error of the API server is often temporary. If it persists, check the " +
				"API server and its storage.",
			"kubectl get --raw '/readyz?verbose'"
	default:
		return "", ""
	}
}

func (e *Error) fieldList() string {
	var b strings.Builder
	for _, f := range e.Fields {
		fmt.Fprintf(&b, "\n  %s: %s", f.Field, f.Message)
	}
	return b.String()
}
