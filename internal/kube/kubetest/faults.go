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
	return func(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Code:   int32(code), //nolint:gosec // three digits
			Reason: reason, Message: string(reason),
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
	}
}

// Silent accepts a watch and sends nothing.
func Silent(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}
