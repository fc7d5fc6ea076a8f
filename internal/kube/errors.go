package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Class says what kind of failure a request met. It is decided from the
// status's reason, details and causes, never from words in a message.
type Class int

const (
	// Other is a failure that fits no other class.
	Other Class = iota
	// NotFound: the server says that the object itself is not there.
	NotFound
	// NamespaceMissing: the object's namespace is not there.
	NamespaceMissing
	// KindMissing: the server doesn't serve the kind; its CRD is not installed.
	KindMissing
	// Unauthorized: the credentials are missing, wrong or expired (401).
	Unauthorized
	// Denied: the credentials lack the right (RBAC, 403).
	Denied
	// Refused: an admission step said no (quota, webhook, policy, 403 and others).
	Refused
	// Invalid: the object has fields that the server does not accept (400, 422).
	Invalid
	// Immutable: a field that cannot change after creation would change.
	Immutable
	// Conflict: somebody else changed or owns what would be written (409).
	Conflict
	// Unreachable: no answer from the API server, or no trustworthy one.
	Unreachable
	// Canceled: the run was interrupted, or its time is up.
	Canceled
	// Misconfigured: the provider's configuration names no usable cluster.
	Misconfigured
)

// Error is a failed request: what was asked of which object, and how it failed.
type Error struct {
	Op     string // "apply", "read", "delete", …
	Object string // as Ref.String
	Class  Class
	// Fields are the field paths that the server's causes name, each with its message.
	Fields []FieldCause
	Err    error
}

// FieldCause is one field that the server found fault with.
type FieldCause struct {
	Type    metav1.CauseType
	Field   string
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s %s: %v", e.Op, e.Object, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of err, Other where it is no *Error.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Other
}

// IsNotFound says whether the server itself said that the object is not there.
// An outage, a missing right, or an API that is not served at the moment is
// none of that.
func IsNotFound(err error) bool {
	class := ClassOf(err)
	return class == NotFound || class == NamespaceMissing
}

// wrap classifies err. The difference between Denied and Refused needs a
// question to the server: see Cluster.denied.
func wrap(op string, ref Ref, err error) error {
	if err == nil {
		return nil
	}
	var already *Error
	if errors.As(err, &already) {
		return err
	}
	e := &Error{Op: op, Object: ref.String(), Err: err}
	e.Class, e.Fields = classify(ref, err)
	return e
}

func classify(ref Ref, err error) (Class, []FieldCause) {
	var config *ConfigError
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &config):
		return Misconfigured, nil
	case errors.As(err, &status):
		return classifyStatus(ref, status.Status())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Canceled, nil
	case isNetwork(err):
		return Unreachable, nil
	default:
		return Other, nil
	}
}

func classifyStatus(ref Ref, status metav1.Status) (Class, []FieldCause) {
	fields := causes(status)
	if status.Reason != metav1.StatusReasonNotFound && status.Reason != metav1.StatusReasonUnauthorized && !fromAPI(status) {
		return Unreachable, nil
	}
	switch status.Reason {
	case metav1.StatusReasonNotFound:
		switch {
		case status.Details == nil || status.Details.Name == "" || !fromAPI(status):
			return KindMissing, nil // nobody looked for the object: the path is not served, maybe by no API server at all
		case status.Details.Kind == "namespaces" && ref.Kind.Kind != "Namespace":
			return NamespaceMissing, nil
		default:
			return NotFound, nil
		}
	case metav1.StatusReasonUnauthorized:
		return Unauthorized, nil
	case metav1.StatusReasonForbidden:
		return Refused, fields
	case metav1.StatusReasonInvalid:
		if slices.ContainsFunc(fields, func(f FieldCause) bool { return slices.Contains(ref.Kind.Immutable, f.Field) }) {
			return Immutable, fields
		}
		if len(fields) == 0 {
			return Refused, nil // a policy's verdict on the object as a whole
		}
		return Invalid, fields
	case metav1.StatusReasonBadRequest:
		return Invalid, fields
	case metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists:
		return Conflict, fields
	case metav1.StatusReasonServiceUnavailable, metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout, metav1.StatusReasonTooManyRequests:
		return Unreachable, nil
	default:
		return Other, fields
	}
}

// fromAPI says whether the status is what the API server sent. client-go makes
// one up for an answer that holds none, such as a gateway's.
func fromAPI(status metav1.Status) bool {
	return !apierrors.HasStatusCause(&apierrors.StatusError{ErrStatus: status}, metav1.CauseTypeUnexpectedServerResponse)
}

func causes(status metav1.Status) []FieldCause {
	if status.Details == nil {
		return nil
	}
	var out []FieldCause
	for _, cause := range status.Details.Causes {
		if cause.Field != "" {
			out = append(out, FieldCause{Type: cause.Type, Field: cause.Field, Message: cause.Message})
		}
	}
	return out
}

// isNetwork says whether err came from the way to the server: dialing, TLS, a
// broken connection, a proxy.
func isNetwork(err error) bool {
	var (
		netErr  net.Error
		urlErr  *url.Error
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
	)
	return errors.As(err, &netErr) || errors.As(err, &urlErr) || errors.As(err, &unknown) ||
		errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &record)
}

// Explain says what failed in one sentence, and what to do about it.
func (e *Error) Explain() (summary, detail string) {
	namespace, name, _ := strings.Cut(e.Object[strings.Index(e.Object, " ")+1:], "/")
	if name == "" {
		name, namespace = namespace, ""
	}
	kind, _, _ := strings.Cut(e.Object, " ")
	saw := "The API server answered: " + e.Err.Error()
	switch e.Class {
	case NamespaceMissing:
		return fmt.Sprintf("Namespace %q does not exist", namespace),
			fmt.Sprintf("%s cannot be created in it. %s\n\nCreate the namespace first, or in the same configuration with depends_on:\n  kubectl create namespace %s", e.Object, saw, namespace)
	case KindMissing:
		return "The cluster does not know " + kind,
			fmt.Sprintf("%s\n\nIf it is a kind of an operator's, install that operator or its CRD. If it is one of Kubernetes' own, the provider's host does not lead to an API server. Look with:\n  kubectl api-resources | grep -i %s", saw, strings.ToLower(kind))
	case Unauthorized:
		return "The cluster does not accept the credentials",
			saw + "\n\nThe token or certificate is missing, wrong or has expired. Renew it, and check with:\n  kubectl auth whoami"
	case Denied:
		return fmt.Sprintf("No permission to %s %s", e.Op, e.Object),
			fmt.Sprintf("%s\n\nGrant the right to the user that the provider runs as. What it may do:\n  kubectl auth can-i --list%s", saw, inNamespace(namespace))
	case Refused:
		return fmt.Sprintf("The cluster refused %s", e.Object),
			fmt.Sprintf("%s\n\nA quota, an admission webhook or a policy of the cluster said no. Look with:\n  kubectl describe resourcequota,limitrange%s\n  kubectl get validatingadmissionpolicies,validatingwebhookconfigurations", saw, inNamespace(namespace))
	case Invalid, Immutable:
		return fmt.Sprintf("%s is not valid", e.Object), saw + e.fieldList()
	case Conflict:
		return fmt.Sprintf("Somebody else changed %s at the same time", e.Object), saw + "\n\nRun the plan again."
	case Unreachable:
		return "The Kubernetes API server cannot be reached",
			fmt.Sprintf("To %s %s, this was tried: %s\n\nCheck the provider's host or kubeconfig, the network and the server's certificate:\n  kubectl cluster-info", e.Op, strings.TrimSuffix(e.Object, "/"), attempt(e.Err))
	case Canceled:
		return fmt.Sprintf("Interrupted: %s %s", e.Op, e.Object), e.Err.Error()
	case Misconfigured:
		var config *ConfigError
		if errors.As(e.Err, &config) {
			return "The provider is not configured for a cluster", config.Error()
		}
		return "The provider is not configured for a cluster", e.Err.Error()
	case NotFound:
		return fmt.Sprintf("%s does not exist", e.Object), saw
	default:
		return fmt.Sprintf("Could not %s %s", e.Op, e.Object), saw
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

func (e *Error) fieldList() string {
	var b strings.Builder
	for _, f := range e.Fields {
		fmt.Fprintf(&b, "\n  %s: %s", f.Field, f.Message)
	}
	if b.Len() > 0 {
		return "\n" + b.String()
	}
	return ""
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " -n " + namespace
}
