package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
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
	Kind   Kind   // of the object
	Class  Class
	// Fields are the field paths that the server's causes name, each with its message.
	Fields []FieldCause
	// OutcomeUnknown says that a write failed which may have been carried out all
	// the same: its answer was lost.
	OutcomeUnknown bool
	Err            error

	told *outages // of the run, nil where it is not known
}

// outages are the reasons for which the server could not be reached that the run
// has explained.
type outages struct{ told sync.Map }

// repeated says whether a reason has been explained before.
func (o *outages) repeated(reason string) bool {
	if o == nil {
		return false
	}
	_, repeated := o.told.LoadOrStore(reason, true)
	return repeated
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

// OutcomeUnknown says whether err is the failure of a write that may have been
// carried out all the same.
func OutcomeUnknown(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.OutcomeUnknown
}

// ClassOf returns the class of err, Other where it is no *Error.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
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
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	e := &Error{Op: op, Object: ref.String(), Kind: ref.Kind, Err: err}
	e.Class, e.Fields = classify(ref, err)
	return e
}

// wrapWrite is wrap for a write that noted its outcome.
func wrapWrite(op string, ref Ref, err error, sent *outcome) error {
	err = wrap(op, ref, err)
	if e, ok := errors.AsType[*Error](err); ok {
		e.OutcomeUnknown = sent.unknown.Load()
	}
	return err
}

func classify(ref Ref, err error) (Class, []FieldCause) {
	var config *config.Error
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
	if len(fields) == 0 {
		fields = webhookCauses(status.Message)
	}
	if status.Reason != metav1.StatusReasonNotFound && status.Reason != metav1.StatusReasonUnauthorized && !fromAPI(status) {
		return Unreachable, nil
	}
	switch status.Reason {
	case metav1.StatusReasonNotFound:
		switch {
		case !fromAPI(status) && alwaysServed(ref.Kind):
			return Unreachable, nil // something on the way has answered
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
		if immutable(ref.Kind, fields) {
			return Immutable, fields
		}
		return Refused, fields
	case metav1.StatusReasonInvalid:
		if immutable(ref.Kind, fields) {
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
	case metav1.StatusReasonUnknown:
		if untyped.MatchString(status.Message) {
			return Invalid, fields
		}
		return Refused, fields // the API server's own answers have reasons; a webhook's verdict may lack one
	default:
		return Other, fields
	}
}

// alwaysServed says whether every API server serves a kind: those of Kubernetes'
// own groups that have no domain.
func alwaysServed(kind Kind) bool { return kind.Resource != "" && !kind.Custom() }

// untyped is how a server-side apply answers to a field that is not in the
// kind's schema, or has another type there: with code 500 and no reason
// (apimachinery/pkg/util/managedfields/internal/structuredmerge.go).
var untyped = regexp.MustCompile(`^failed to create typed patch object`)

// immutable says whether a field is at fault that never changes. A field that is
// required or not supported is at fault for another reason.
func immutable(kind Kind, fields []FieldCause) bool {
	return slices.ContainsFunc(fields, func(f FieldCause) bool {
		changed := f.Type == metav1.CauseTypeFieldValueInvalid || f.Type == metav1.CauseTypeForbidden
		return changed && slices.Contains(kind.Immutable, f.Field)
	})
}

// fieldErrors are what validation errors of k8s.io/apimachinery/pkg/util/validation/field
// look like in a text: path, type, detail.
var fieldErrors = regexp.MustCompile(`(?:^|[\s\[])((?:spec|metadata)\b[^\s:]*): (Invalid value|Forbidden|Required value|Duplicate value|Unsupported value)(?:: |$|,)`)

// webhookCauses reads the fields that a webhook's validation found fault with:
// controller-runtime, which most webhooks are built with, sends them in the
// text of its denial only.
func webhookCauses(message string) []FieldCause {
	_, denial, denied := strings.Cut(message, "denied the request: ")
	if !denied {
		return nil
	}
	types := map[string]metav1.CauseType{
		"Invalid value": metav1.CauseTypeFieldValueInvalid, "Forbidden": metav1.CauseTypeForbidden,
		"Required value": metav1.CauseTypeFieldValueRequired, "Duplicate value": metav1.CauseTypeFieldValueDuplicate,
		"Unsupported value": metav1.CauseTypeFieldValueNotSupported,
	}
	var out []FieldCause
	for _, match := range fieldErrors.FindAllStringSubmatch(denial, -1) {
		out = append(out, FieldCause{Type: types[match[2]], Field: match[1], Message: denial})
	}
	return out
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
