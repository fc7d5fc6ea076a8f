package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

const (
	// ServerPatience is the retry time for a server that has responded before in
	// this run. A restart takes less time.
	ServerPatience = 30 * time.Second
	// FirstPatience is the retry time for a server that has never responded, so
	// that a wrong address is reported soon.
	FirstPatience = 5 * time.Second
	// DialPatience is the FirstPatience for an address without a listener.
	DialPatience = 2 * time.Second
)

// category is the category of a request.
type category int

const (
	read    category = iota // GET, LIST, and other requests without changes
	write                   // an idempotent write
	once                    // a write that must not be repeated
	stream                  // a watch, or a log of unlimited size
	upgrade                 // an upgraded connection
)

func (c category) writes() bool { return c == write || c == once }

// categoryOf returns the category of a request by its method, query and body.
func categoryOf(request *http.Request) category {
	query := request.URL.Query()
	dryRun := query.Get("dryRun") != ""
	switch {
	case request.Header.Get("Upgrade") != "":
		return upgrade
	case query.Get("watch") == "true" || query.Get("watch") == "1",
		strings.HasSuffix(request.URL.Path, "/log") && !query.Has("limitBytes"):
		return stream
	case request.Method == http.MethodGet, dryRun, strings.HasSuffix(request.URL.Path, "/selfsubjectaccessreviews"):
		return read
	case repeatable(request):
		return write
	default:
		return once
	}
}

// repeatable reports whether a write is idempotent: a server-side apply, or a
// write that is limited to one version of one object.
func repeatable(request *http.Request) bool {
	if request.GetBody == nil {
		return false
	}
	if request.Method == http.MethodPatch && request.Header.Get("Content-Type") == string(types.ApplyPatchType) {
		return true
	}
	body, err := request.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return false
	}
	guarded := bytes.Contains(data, []byte(`"resourceVersion"`)) ||
		bytes.Contains(data, []byte(`/metadata/resourceVersion"`))
	switch request.Method {
	case http.MethodPatch:
		return guarded
	case http.MethodDelete:
		var options metav1.DeleteOptions
		return json.Unmarshal(data, &options) == nil && options.Preconditions != nil && options.Preconditions.UID != nil
	default:
		return false
	}
}

// judgement is the decision after an attempt.
type judgement struct {
	again   bool          // the failure may be temporary
	unknown bool          // a write that may have been executed
	settled bool          // the API server has certainly responded
	within  time.Duration // retry time from the first failure
	tries   int           // maximum number of attempts; 0 for no limit
	after   time.Duration // delay requested by the server
}

// judge decides whether to repeat an attempt: if the server is unreachable,
// starting or overloaded, the connection broke or the response is incomplete,
// but never after a rejection.
func judge(request *http.Request, category category, reply *reply, err error, known state) judgement {
	within := FirstPatience
	if known.reached {
		within = ServerPatience
	}
	var out judgement
	if err != nil {
		out = judgeError(err, known, within)
	} else {
		out = judgeResponse(request, reply, known, within)
	}
	out.unknown = out.unknown && category.writes()
	out.again = out.again && (category != once || !out.unknown)
	return out
}

func judgeError(err error, known state, within time.Duration) judgement {
	var dial *net.OpError
	switch {
	case strings.HasPrefix(err.Error(), "getting credentials: "):
		return judgement{} // from the credential plugin: see Transport
	case IsTLS(err), Is[*config.RedirectError](err):
		return judgement{}
	case Is[*tooLargeError](err), Is[unexpectedError](err):
		return judgement{unknown: true} // a write was executed
	case Is[*net.DNSError](err):
		return judgement{again: known.reached, within: within}
	case errors.As(err, &dial) && (dial.Op == "dial" || dial.Op == "proxyconnect"):
		if !known.reached {
			within = DialPatience
		}
		return judgement{again: known.reached || !dial.Timeout(), within: within}
	default:
		return judgement{again: true, unknown: true, within: within}
	}
}

func judgeResponse(request *http.Request, reply *reply, known state, within time.Duration) judgement {
	const few, some, many = 4, 5, 7
	switch code := reply.StatusCode; {
	case reply.succeeded():
		return judgement{settled: true}
	case code == http.StatusUnauthorized && known.accepted:
		return judgement{again: true, within: within, tries: few}
	case code == http.StatusUnauthorized: // the underlying transport now gets new credentials
		return judgement{again: true, within: within, tries: 2}
	case (code == http.StatusForbidden || code == http.StatusUnprocessableEntity) &&
		ready.FailureOfServer(reply.message()):
		return judgement{again: true, within: within}
	case code == http.StatusForbidden: // not settled: it does not show that a previous attempt was rejected
		return judgement{again: known.starting, within: within, tries: many}
	case code == http.StatusTooManyRequests && reply.holdsBudget():
		return judgement{settled: true} // the caller waits for the pods of the PodDisruptionBudget
	case code == http.StatusTooManyRequests:
		if reply.retryAfter() > 0 { // from the API server, which is available and sets the delay
			within = RequestTime
		}
		return judgement{again: true, within: within, after: reply.retryAfter()}
	case code == http.StatusNotFound && reply.status() == nil && !reply.webPage() &&
		builtInPath.MatchString(request.URL.Path):
		return judgement{again: true, within: within, tries: few} // from a gateway
	case code == http.StatusConflict &&
		apierrors.HasStatusCause(reply.failure(), metav1.CauseTypeFieldManagerConflict):
		return judgement{settled: true} // between field managers, which is permanent
	case code == http.StatusConflict && request.Header.Get("Content-Type") == string(types.ApplyPatchType):
		return judgement{again: true, settled: true, within: within, tries: some} // a conflict with another writer
	case code == http.StatusInternalServerError && Untyped(reply.message()): // a rejection of the object
		return judgement{settled: true}
	case code == http.StatusInternalServerError && WebhookFails(reply.message()):
		return judgement{again: true, settled: true, within: within, tries: few}
	case code >= http.StatusInternalServerError && code != http.StatusNotImplemented:
		return judgement{again: true, unknown: true, within: within, after: reply.retryAfter()}
	default:
		return judgement{settled: reply.status() != nil}
	}
}

// forbids reports whether the API server has rejected the request for lack of permission.
func (a *reply) forbids() bool {
	return a != nil && a.StatusCode == http.StatusForbidden && a.byServer()
}

// succeeded reports whether the server has executed the request.
func (a *reply) succeeded() bool { return a.StatusCode < http.StatusMultipleChoices }

// status returns the Status in a response of the API server, or nil.
func (a *reply) status() *metav1.Status {
	status := &metav1.Status{}
	if json.Unmarshal(a.body, status) != nil || status.Kind != "Status" {
		return nil
	}
	return status
}

// byServer reports whether a working API server has responded.
func (a *reply) byServer() bool {
	switch {
	case a.succeeded():
		return !a.webPage()
	case a.StatusCode >= http.StatusInternalServerError,
		a.StatusCode == http.StatusTooManyRequests && !a.holdsBudget():
		return false
	default:
		return a.status() != nil
	}
}

// failure returns the Status in a response of the API server as an error, which has only the code without a Status.
func (a *reply) failure() error {
	status := ptr.Deref(a.status(), metav1.Status{})
	status.Code = int32(a.StatusCode) //nolint:gosec // three digits
	return &apierrors.StatusError{ErrStatus: status}
}

// holdsBudget reports whether a PodDisruptionBudget is the reason of a response.
func (a *reply) holdsBudget() bool { return BudgetOf(a.failure()) != "" }

// message returns the message in a response of the API server, or "".
func (a *reply) message() string { return a.failure().Error() }

func (a *reply) webPage() bool { return a.hasType("text/html") }

func (a *reply) hasType(media string) bool {
	return strings.HasPrefix(a.Header.Get("Content-Type"), media)
}

func (a *reply) retryAfter() time.Duration {
	// It is 0 if the header is missing or a date, and at most 2^31 - 1.
	seconds, _ := strconv.ParseUint(a.Header.Get("Retry-After"), 10, 31)
	return time.Duration(seconds) * time.Second
}

// builtInPath matches the path of an object or a list of the groups of
// Kubernetes. They are always served, so no API server reports that the path is
// missing.
var builtInPath = regexp.MustCompile(`/(api/v1|apis/(apps|batch|policy|autoscaling)/v1)/`)

// history contains the previous attempts of one request.
type history struct {
	started time.Time
	failed  time.Time // the first failure
	tries   int
	unknown bool // one of them may have executed the write
}

func (h *history) note(now time.Time, v judgement) {
	h.tries++
	if h.failed.IsZero() {
		h.failed = now
	}
	h.unknown = !v.settled && (h.unknown || v.unknown)
}

// left returns the remaining time of the request.
func (h *history) left(now time.Time) time.Duration {
	if h.unknown {
		return max(RequestTime-now.Sub(h.started), SettleTime-now.Sub(h.failed))
	}
	return RequestTime - now.Sub(h.started)
}

// allows reports whether another attempt may start at a time. During an outage,
// all requests of the run share one wait for the server, which starts at
// failing.
func (h *history) allows(at time.Time, v judgement, failing time.Time) bool {
	if v.tries > 0 && h.tries >= v.tries {
		return false
	}
	if h.unknown && at.Sub(h.failed) < SettleTime {
		return true
	}
	since := h.failed
	if !failing.IsZero() && failing.Before(since) && v.within < RequestTime {
		since = failing
	}
	return at.Sub(since) < v.within && at.Sub(h.started) < RequestTime
}
