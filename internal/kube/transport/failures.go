package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsTLS reports whether err is a rejected certificate, or a server without TLS.
func IsTLS(err error) bool {
	return Is[*tls.CertificateVerificationError](err) || Is[x509.UnknownAuthorityError](err) ||
		Is[x509.HostnameError](err) || Is[x509.CertificateInvalidError](err) || Is[tls.RecordHeaderError](err)
}

// Untyped reports whether a message is the response of a server-side apply to a field that is
// missing in the schema or has another type. It has code 500 and no reason
// (apimachinery/pkg/util/managedfields/internal/structuredmerge.go).
func Untyped(message string) bool {
	return strings.HasPrefix(message, "failed to create typed patch object")
}

// WebhookFails reports whether a webhook did not respond, by the message of
// apiserver/pkg/admission/plugin/webhook/errors.
func WebhookFails(message string) bool { return strings.Contains(message, "failed calling webhook") }

// BudgetOf returns the message about the PodDisruptionBudget that does not allow an eviction, or "".
func BudgetOf(err error) string {
	if !apierrors.IsTooManyRequests(err) {
		return ""
	}
	cause, _ := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause)
	return strings.TrimSuffix(cause.Message, ".")
}

// Is reports whether err is or wraps an error of the type E.
func Is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
