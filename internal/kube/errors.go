package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/kube/transport"
	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

// Class is the class of a failed request. It is determined by the reason,
// details and causes of the status. Its message decides only where the server
// reports a failure of another class with them: see [transport.Untyped], immutable,
// webhookCauses and [ready.FailureOfServer].
type Class int

const (
	// Other is a failure of no other class.
	Other Class = iota
	// NotFound: the object does not exist.
	NotFound
	// NamespaceMissing: the namespace of the object does not exist.
	NamespaceMissing
	// KindMissing: the server does not serve the kind. Its CRD is not installed.
	KindMissing
	// Unauthorized: the credentials are missing, wrong or expired (401).
	Unauthorized
	// Denied: the credentials lack permission (RBAC, 403).
	Denied
	// Refused: an admission step rejected the request (quota, webhook, policy, 403
	// and others).
	Refused
	// Invalid: the object has fields that the server does not accept (400, 422).
	Invalid
	// Immutable: the request changes an immutable field.
	Immutable
	// Conflict: another client changed the object or owns its fields (409).
	Conflict
	// Unreachable: no valid response from the API server.
	Unreachable
	// PodsRefused: the webhook of Knative rejected a dry run, because the API server would reject the pods. It does
	// not check them at an apply.
	PodsRefused
	// Canceled: the run was interrupted or timed out.
	Canceled
	// Misconfigured: the configuration of the provider does not specify a usable
	// cluster.
	Misconfigured
)

// Error is a failed request: the operation, the object and the failure.
type Error struct {
	Op    string // "apply", "read", "delete", …
	Ref   Ref    // the object, or those of a list
	Class Class
	// Fields are the field paths of the causes in the status, each with its
	// message.
	Fields []FieldCause
	// OutcomeUnknown reports that a failed write may have been executed, because
	// its response was lost.
	OutcomeUnknown bool
	Err            error

	explained *sync.Map // reasons of connection failures that were already explained in this run, or nil if unknown
}

// FieldCause is one invalid field.
type FieldCause = metav1.StatusCause

func (e *Error) Error() string {
	return fmt.Sprintf("%s %s: %v", e.Op, e.Ref, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// OutcomeUnknown reports whether err is a failed write that may have been
// executed.
func OutcomeUnknown(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.OutcomeUnknown
}

// ClassOf returns the class of err, or Other if err is not an *Error.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return Other
}

// IsNotFound reports whether the server responded that the object does not
// exist. An outage, missing permission, or an API that is not served does not
// count.
func IsNotFound(err error) bool {
	class := ClassOf(err)
	return class == NotFound || class == NamespaceMissing
}

// IsServerFailure reports whether err is unrelated to the requested object: the
// server is unreachable, has an internal problem, or rejected the credentials.
func IsServerFailure(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Class == Unreachable || e.Class == Unauthorized || e.Class == Other)
}

// AboutServer reports whether err is a problem of the API server or the end of
// the run, and not of the object: a later run may succeed with the same
// request.
func AboutServer(err error) bool {
	return IsServerFailure(err) || ClassOf(err) == Canceled || OutcomeUnknown(err)
}

// Wrap returns err as an *Error of its class, or nil. Distinguishing Denied from Refused requires a request:
// see API.denied.
func Wrap(op string, ref Ref, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	e := &Error{Op: op, Ref: ref, Err: err}
	if status, ok := err.(*apierrors.StatusError); ok { //nolint:errorlint // not if it is part of another text
		e.Err = quoted(status)
	}
	e.Class, _ = classify(ref, err) // a quoted message is cut, possibly before what decides
	_, e.Fields = classify(ref, e.Err)
	return e
}

// quoted returns an error whose messages can be quoted in a message. Servers and webhooks write them.
func quoted(e *apierrors.StatusError) *apierrors.StatusError {
	message := func(text string) string { return printable.Foreign(withoutObjects(text)) }
	out := &apierrors.StatusError{ErrStatus: mapTexts(e.ErrStatus, message, printable.Foreign)}
	if equality.Semantic.DeepEqual(out.ErrStatus, e.ErrStatus) {
		return e
	}
	return out
}

// rejectedObject matches the beginning of a rejected object in a message (Error.ErrorBody in pkg/util/validation/field
// of k8s.io/apimachinery), as JSON or as Go.
var rejectedObject = regexp.MustCompile(`Invalid value: ([\w.&*\[\]]*\{|\[\{)`)

// longestObject is the number of characters of a rejected object that a message may quote.
const longestObject = 100

// withoutObjects returns a message without the long objects that it quotes: a pod template contains the values of
// environment variables, which can be secret.
func withoutObjects(message string) string {
	var out strings.Builder
	for {
		at := rejectedObject.FindStringSubmatchIndex(message)
		if at == nil {
			out.WriteString(message)
			return out.String()
		}
		out.WriteString(message[:at[2]])
		message = message[at[2]:]
		var object json.RawMessage
		decoder := json.NewDecoder(strings.NewReader(message))
		end := len(message)
		if decoder.Decode(&object) == nil {
			end = int(decoder.InputOffset())
		} else if last := strings.LastIndexAny(message, "}]"); last >= 0 {
			end = last + 1
		}
		if end <= longestObject {
			out.WriteString(message[:end])
		} else {
			out.WriteString("{…}")
		}
		message = message[end:]
	}
}

// mapTexts returns a copy of a status with its messages and the fields of its causes mapped.
func mapTexts(status metav1.Status, message, field func(string) string) metav1.Status {
	out := *status.DeepCopy()
	out.Message = message(out.Message)
	if out.Details != nil {
		for i := range out.Details.Causes {
			cause := &out.Details.Causes[i]
			cause.Message, cause.Field = message(cause.Message), field(cause.Field)
		}
	}
	return out
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
	if status.Reason != metav1.StatusReasonNotFound && status.Reason != metav1.StatusReasonUnauthorized &&
		!fromAPI(status) {
		return Unreachable, nil
	}
	rejected := status.Reason == metav1.StatusReasonForbidden || status.Reason == metav1.StatusReasonInvalid
	if rejected && ready.FailureOfServer(status.Message) {
		return Unreachable, nil
	}
	switch status.Reason {
	case metav1.StatusReasonNotFound:
		switch {
		case !fromAPI(status) && alwaysServed(ref.Kind):
			return Unreachable, nil // response of an intermediate server
		case status.Details == nil || status.Details.Name == "" || !fromAPI(status):
			return KindMissing, nil // the path is not served, possibly because this is not an API server
		case status.Details.Kind == "namespaces" && ref.Kind.Kind != "Namespace":
			return NamespaceMissing, nil
		default:
			return NotFound, nil
		}
	case metav1.StatusReasonUnauthorized:
		return Unauthorized, nil
	case metav1.StatusReasonForbidden, metav1.StatusReasonInvalid:
		switch {
		case slices.ContainsFunc(fields, func(f FieldCause) bool { return f.Field == "metadata.uid" }):
			return Conflict, fields // the object with the sent UID was replaced
		case immutable(ref.Kind, fields):
			return Immutable, fields
		case status.Reason == metav1.StatusReasonForbidden, len(fields) == 0:
			return Refused, fields // without fields, it is the verdict of a policy on the complete object
		}
		return Invalid, fields
	case metav1.StatusReasonBadRequest:
		if rejectedPods(status.Message) != "" {
			return PodsRefused, nil
		}
		return Invalid, fields
	case metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists:
		return Conflict, fields
	case metav1.StatusReasonServiceUnavailable, metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout,
		metav1.StatusReasonTooManyRequests:
		return Unreachable, nil
	case metav1.StatusReasonUnknown:
		if transport.Untyped(status.Message) {
			return Invalid, fields
		}
		return Refused, fields // responses of the API server have reasons; the verdict of a webhook may lack one
	default:
		return Other, fields
	}
}

// alwaysServed reports whether every API server serves a kind, which is true
// for the groups of Kubernetes without a domain.
func alwaysServed(kind Kind) bool { return kind.Resource != "" && !kind.Custom() }

// immutable reports whether the causes contain an immutable field. Required or
// unsupported fields have a different cause. Which fields of a workload are
// immutable can depend on its queue: Kueue's webhook rejects changes of the pods
// and the size of a LeaderWorkerSet that it manages.
func immutable(kind Kind, fields []FieldCause) bool {
	return slices.ContainsFunc(fields, func(f FieldCause) bool {
		changed := f.Type == metav1.CauseTypeFieldValueInvalid || f.Type == metav1.CauseTypeForbidden
		return changed && (slices.Contains(kind.Immutable, f.Field) ||
			kind.RunsPods() && strings.Contains(f.Message, validation.FieldImmutableErrorMsg))
	})
}

// fromAPI reports whether the API server sent the status. client-go creates one
// for a response without a status, such as that of a gateway.
func fromAPI(status metav1.Status) bool {
	return !apierrors.HasStatusCause(&apierrors.StatusError{ErrStatus: status},
		metav1.CauseTypeUnexpectedServerResponse)
}

func causes(status metav1.Status) []FieldCause {
	all := slices.Clone(ptr.Deref(status.Details, metav1.StatusDetails{}).Causes)
	return slices.DeleteFunc(all, func(cause FieldCause) bool { return cause.Field == "" })
}

// isNetwork reports whether err is a connection error: dialing, TLS, a broken
// connection, a proxy, a redirect.
func isNetwork(err error) bool {
	return transport.Is[net.Error](err) || transport.Is[*url.Error](err) ||
		transport.Is[*config.RedirectError](err) || transport.IsTLS(err)
}
