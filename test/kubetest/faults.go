package kubetest

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault replaces one response. execute executes the request.
type Fault func(w http.ResponseWriter, execute func() *httptest.ResponseRecorder)

// Status responds with a Status of the API server.
func Status(code int, reason metav1.StatusReason) Fault {
	return StatusWith(code, reason, string(reason))
}

// StatusWith is Status with a message.
func StatusWith(code int, reason metav1.StatusReason, message string) Fault {
	return func(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Code:   int32(code), //nolint:gosec // three digits
			Reason: reason, Message: message,
			Details: &metav1.StatusDetails{Name: "trainer", Kind: "deployments"},
		})
	}
}

// Gateway responds with the error page of a gateway.
func Gateway(code int) Fault {
	return func(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
		http.Error(w, http.StatusText(code), code)
	}
}

// Throttled responds with 429 and a Retry-After.
func Throttled(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
	w.Header().Set("Retry-After", "7")
	http.Error(w, "too many requests", http.StatusTooManyRequests)
}

// HangUp closes or resets the connection, before or after the request is
// executed.
func HangUp(reset, after bool) Fault {
	return func(w http.ResponseWriter, execute func() *httptest.ResponseRecorder) {
		if after {
			execute()
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		if tcp, ok := conn.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
}

// Truncated cuts the body. If honest, the headers do not show it.
func Truncated(honest bool) Fault {
	return func(w http.ResponseWriter, execute func() *httptest.ResponseRecorder) {
		answer := execute().Body.Bytes()
		w.Header().Set("Content-Type", "application/json")
		if !honest {
			w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		}
		_, _ = w.Write(answer[:len(answer)/2])
	}
}

// Passing returns faults that a retry resolves.
func Passing() map[string]Fault {
	return map[string]Fault{
		"throttled":                Throttled,
		"internal error":           Status(500, metav1.StatusReasonInternalError),
		"etcd is slow":             Status(500, metav1.StatusReasonUnknown),
		"starting":                 Status(503, metav1.StatusReasonServiceUnavailable),
		"timeout":                  Status(504, metav1.StatusReasonTimeout),
		"gateway 502":              Gateway(502),
		"gateway 503":              Gateway(503),
		"gateway 504":              Gateway(504),
		"gateway 429":              Gateway(429),
		"gateway 404":              Gateway(404),
		"reset before":             HangUp(true, false),
		"reset after":              HangUp(true, true),
		"closed before":            HangUp(false, false),
		"closed after":             HangUp(false, true),
		"truncated":                Truncated(false),
		"truncated as if whole":    Truncated(true),
		"expired once":             Status(401, metav1.StatusReasonUnauthorized),
		"another writer was first": Status(409, metav1.StatusReasonConflict),
		"no address for a Service": StatusWith(422, metav1.StatusReasonInvalid, NoAddress),
		"no service account":       StatusWith(403, metav1.StatusReasonForbidden, NoServiceAccount),
	}
}

// Messages of an API server that cannot reach itself. The first was seen in a restart of Kubernetes 1.36, the last
// is from its source (plugin/pkg/admission/serviceaccount/admission.go).
const (
	NoAddress      = `Service "trainer" is invalid: spec.clusterIPs: ` + NoAddressCause
	NoAddressCause = `Invalid value: [""]: failed to allocate IP: Post ` +
		`"https://127.0.0.1:6443/apis/networking.k8s.io/v1/ipaddresses": dial tcp 127.0.0.1:6443: connect: ` +
		`connection refused`
	NoServiceAccount = `pods "trainer-1" is forbidden: error looking up service account ml/default: Get ` +
		`"https://127.0.0.1:6443/api/v1/namespaces/ml/serviceaccounts/default": dial tcp 127.0.0.1:6443: connect: ` +
		`connection refused`
)

// Silent accepts a watch and sends nothing.
func Silent(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}
