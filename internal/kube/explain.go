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

// Explain says in one line what failed, and then what was seen, what to do and
// how to look further, in the form of [ready.Explain].
func (e *Error) Explain() (summary, detail string) {
	summary, cause := e.explanation()
	if e.OutcomeUnknown {
		cause.Summary += "\n\n" + outcomeUnknown
	}
	return summary, ready.Explain(&cause, nil)
}

func (e *Error) explanation() (summary string, cause ready.Cause) {
	kind, namespace := e.Kind.Word(), e.namespace()
	object := strings.TrimSuffix(e.Object, "/")
	cause.Summary = e.Err.Error()
	var status apierrors.APIStatus
	if errors.As(e.Err, &status) {
		cause.Summary = "The API server answered: " + cause.Summary
	}
	switch e.Class {
	case NamespaceMissing:
		cause.Hint = fmt.Sprintf("Create it first (`kubectl create namespace %s`), or in the same configuration with depends_on; or correct `namespace`.", namespace)
		cause.Command = "kubectl get namespaces"
		return fmt.Sprintf("Namespace %q does not exist", namespace), cause
	case KindMissing:
		cause.Hint = toInstall(e.Kind)
		cause.Command = "kubectl api-resources | grep -i " + strings.ToLower(e.Kind.Kind)
		if group := e.Kind.Group; strings.Contains(group, ".") {
			cause.Command = "kubectl api-resources --api-group=" + group
		}
		return "The cluster does not know " + kind, cause
	case Unauthorized:
		cause.Hint = "Renew the token or certificate: it is missing, wrong or has expired."
		cause.Command = "kubectl auth whoami"
		return "The cluster does not accept the credentials", cause
	case Denied:
		cause.Hint = "Grant the permission to the user that the provider runs as, or use another."
		cause.Command = strings.TrimSuffix("kubectl auth can-i --list -n "+namespace, " -n ")
		return fmt.Sprintf("No permission to %s %s", e.Op, object), cause
	case Refused:
		cause.Hint, cause.Command = refusal(e.Err.Error(), namespace)
		return fmt.Sprintf("The cluster refused %s", object), cause
	case Invalid, Immutable:
		if list := e.fieldList(); list != "" {
			cause.Summary = "The API server found fault with:" + list
		}
		cause.Hint = "Correct the attribute that sets the field, `manifest` or `service_template`."
		if e.Class == Immutable {
			cause.Hint = "Replace the compute (`terraform apply -replace=ADDRESS`), or put the field back: Kubernetes never lets it change."
		}
		return fmt.Sprintf("%s is not valid", object), cause
	case Conflict:
		cause.Hint = "Run the plan again."
		return fmt.Sprintf("Somebody else changed %s at the same time", object), cause
	case Unreachable:
		return e.unreachable(object)
	case Canceled:
		cause.Summary = fmt.Sprintf("Operation in progress: %s", attempt(e.Err))
		if errors.Is(e.Err, context.DeadlineExceeded) {
			cause.Hint = "Raise `timeouts`, or check why the API server is slow."
			cause.Command = "kubectl get --raw '/readyz?verbose'"
			return fmt.Sprintf("No time left to %s %s", e.Op, object), cause
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

// namespace is that of the object, "" for none.
func (e *Error) namespace() string {
	namespace, _, namespaced := strings.Cut(strings.TrimPrefix(e.Object, e.Kind.Word()+" "), "/")
	if !namespaced {
		return ""
	}
	return namespace
}

// toInstall is what makes the cluster know a kind.
func toInstall(missing Kind) string {
	name := kind.Operator(missing.Group)
	switch {
	case name == "" && !missing.Custom():
		return "Install the operator that brings it, or its CRD. For a kind of Kubernetes itself, correct the provider's host: it does not lead to an API server."
	case name == "":
		name = "the operator that brings it"
	}
	crd := cmp.Or(missing.Resource, strings.ToLower(missing.Kind)+"s") + "." + missing.Group
	return fmt.Sprintf("Install %s: it brings the CRD %s, whose version %s is needed.", name, crd, missing.Version)
}

// Again explains an outage in one line where an error of the run has explained it
// in full before; ok is false where none has, or where it is no outage.
func (e *Error) Again() (detail string, ok bool) {
	if e.Class != Unreachable || !e.told.repeated(cutShort(e.Err)) {
		return "", false
	}
	detail = fmt.Sprintf("The request to %s %s failed: %s. Another error of this run says more.", e.Op, strings.TrimSuffix(e.Object, "/"), attempt(e.Err))
	if e.OutcomeUnknown {
		detail += "\n\n" + outcomeUnknown
	}
	return detail, true
}

const outcomeUnknown = "It is not known whether the server carried the request out. The next plan shows what is there."

// cutShort is an error without the request that met it.
func cutShort(err error) string {
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err.Error()
	}
	return err.Error()
}

func (e *Error) unreachable(object string) (summary string, cause ready.Cause) {
	var status apierrors.APIStatus
	if errors.As(e.Err, &status) && fromAPI(status.Status()) {
		return "The Kubernetes API server cannot serve requests now", ready.Cause{
			Summary: fmt.Sprintf("The API server rejected the request to %s %s: %v", e.Op, object, e.Err),
			Hint:    "Try again in a moment: the API server is starting, overloaded or losing its storage.",
			Command: "kubectl get --raw '/readyz?verbose'",
		}
	}
	return "The Kubernetes API server cannot be reached", ready.Cause{
		Summary: fmt.Sprintf("The request to %s %s failed: %s", e.Op, object, attempt(e.Err)),
		Hint:    "Check the provider's host or kubeconfig, the network and the server's certificate.",
		Command: "kubectl cluster-info",
	}
}

// attempt says which request failed and how, without its query, which is long
// and helps nobody.
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

// Texts of the API server's admission (plugin/pkg/admission/resourcequota,
// apiserver/pkg/admission/plugin/{policy,webhook}); they only choose advice.
var (
	byQuota      = regexp.MustCompile(`exceeded quota: ([^,]+),`)
	byPolicy     = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)'`)
	byWebhook    = regexp.MustCompile(`admission webhook "[^"]+" denied`)
	terminating  = regexp.MustCompile(`because it is being terminated`)
	webhookFails = regexp.MustCompile(`failed calling webhook "[^"]+"`)
)

const listWebhooks = "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"

// refusal is what to do about an admission step that said no.
func refusal(message, namespace string) (hint, command string) {
	if m := byQuota.FindStringSubmatch(message); m != nil {
		return "Ask for less, free what others of the namespace use, or have the quota raised.",
			fmt.Sprintf("kubectl -n %s describe resourcequota %s", namespace, m[1])
	}
	if m := byPolicy.FindStringSubmatch(message); m != nil {
		return "Change what the message of the policy names, or ask who runs it.",
			"kubectl describe validatingadmissionpolicy " + m[1]
	}
	switch {
	case byWebhook.MatchString(message):
		return "Change what the message of the webhook names, or ask who runs it.", listWebhooks
	case terminating.MatchString(message):
		return "Wait until the namespace is gone and create it again, or choose another.",
			fmt.Sprintf("kubectl get namespace %s -o yaml", namespace)
	}
	return "Change what the message names: a quota, a policy or another admission step of the cluster forbids it.",
		fmt.Sprintf("kubectl -n %s describe resourcequota,limitrange", namespace)
}

// otherFailure is what to do about a failure of no particular class.
func otherFailure(err error) (hint, command string) {
	var status apierrors.APIStatus
	switch {
	case webhookFails.MatchString(err.Error()):
		return "Try again, or ask who runs the webhook: it does not answer.", listWebhooks
	case errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError:
		return "Run the command again: an internal error of the API server often passes. If it stays, check the API server and its storage.",
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
