package proxy

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Kind is a kind of fault.
type Kind string

// Kinds of faults. «Before» and «after» refer to the execution by the API server.
const (
	ResetBefore    Kind = "reset-before"    // connection reset, the request was not executed
	ResetAfter     Kind = "reset-after"     // connection reset, the request was executed
	Throttled      Kind = "429"             // without Retry-After
	ThrottledRetry Kind = "429-retry-after" // with Retry-After: 1
	InternalError  Kind = "500"
	Unavailable    Kind = "503"
	GatewayTimeout Kind = "504-after" // the gateway timed out for a request that was executed
	Delay          Kind = "delay"
	CutBody        Kind = "cut-body"   // connection reset within the body, the request was executed
	ShortBody      Kind = "short-body" // a complete response with half of the body, the request was executed
	WatchCut       Kind = "watch-cut"  // connection reset after the first event
	WatchSilent    Kind = "watch-silent"
	WatchDropped   Kind = "watch-dropped" // the watch goes on, but without some of its events
	WatchLate      Kind = "watch-late"    // events arrive late, as from an API server that lags behind
	StaleRead      Kind = "stale-read"    // a read shows the state before the last write of the command
	Unauthorized   Kind = "401"
	Conflict       Kind = "409"
	Gone           Kind = "410"
	GonePage       Kind = "410-page"       // a list expires after its first page, which has one object
	OutageRefused  Kind = "outage-refused" // connections are refused for some time
	OutageReset    Kind = "outage-reset"   // connections are accepted and reset for some time
	Held           Kind = "held"           // the request gets no response
	KillCLI        Kind = "kill-cli"       // SIGKILL of the CLI, the request was executed
	InterruptCLI   Kind = "interrupt-cli"  // SIGINT to its process group, like Ctrl-C, the request was executed
	TerminateCLI   Kind = "terminate-cli"  // SIGTERM to its process group, as CI systems do, the request was executed
	KillProvider   Kind = "kill-provider"  // SIGKILL of the provider, the request was executed
	Restart        Kind = "restart"        // of the API server with its data, the request was executed
)

// Kinds lists the kinds of faults that affect only one command, which are all except Restart.
func Kinds() []Kind {
	return []Kind{
		ResetBefore, ResetAfter, Throttled, ThrottledRetry, InternalError, Unavailable, GatewayTimeout, Delay, CutBody,
		ShortBody,
		WatchCut, WatchSilent, WatchDropped, WatchLate, StaleRead, Unauthorized, Conflict, Gone, GonePage,
		OutageRefused, OutageReset, Held, KillCLI, InterruptCLI, TerminateCLI, KillProvider,
	}
}

// Transient lists the kinds after which a retried request succeeds immediately.
func Transient() []Kind {
	return []Kind{ResetBefore, ResetAfter, Throttled, ThrottledRetry, InternalError, Unavailable, GatewayTimeout,
		CutBody, ShortBody}
}

// ParseKinds parses a comma-separated list of kinds. An empty list means all kinds.
func ParseKinds(text string) ([]Kind, error) {
	if text == "" {
		return Kinds(), nil
	}
	var kinds []Kind
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(Kinds(), Kind(name)) {
			return nil, fmt.Errorf("unknown kind of fault %q, must be one of %v", name, Kinds())
		}
		kinds = append(kinds, Kind(name))
	}
	return kinds, nil
}

// IsSurvivable reports whether a command must succeed in spite of one fault of the kind at any one request. An outage
// is not, because a server that has never responded is reported soon.
func (k Kind) IsSurvivable() bool {
	others := []Kind{Delay, WatchCut, WatchDropped, WatchLate, GonePage}
	return slices.Contains(others, k) || slices.Contains(Transient(), k)
}

// IsSlow reports whether the client notices the fault only by its own timeouts.
func (k Kind) IsSlow() bool { return k == Held || k == WatchSilent || k == WatchDropped }

// AppliesTo reports whether a fault of the kind can be injected into a request, with
// another effect than the other kinds.
func (k Kind) AppliesTo(r Request) bool {
	switch k {
	case WatchCut, WatchSilent, WatchDropped, WatchLate:
		return r.Watch
	case GonePage:
		return r.Paged
	case StaleRead:
		return r.Method == http.MethodGet && !r.Watch && readsObjects(r.Path)
	case ResetAfter, GatewayTimeout, Conflict:
		return r.Writes()
	case CutBody, ShortBody:
		return !r.Watch
	case Gone:
		return r.Method == http.MethodGet && strings.HasPrefix(r.Path, "/api")
	default:
		return true
	}
}

// Request identifies a request within one command of the CLI, consistently across runs.
type Request struct {
	Method string
	Path   string // without the scenario's namespace, and NAMESPACE in names
	Watch  bool
	DryRun bool
	Paged  bool // a list that the client reads page by page
	N      int  // number among the requests that are otherwise equal, starting at 1
}

// Writes reports whether the request changes the cluster.
func (r Request) Writes() bool { return r.Method != http.MethodGet && !r.DryRun }

// String formats the identity in one line, such as "PATCH dry-run /api/v1/services/web #1".
func (r Request) String() string {
	words := []string{r.Method}
	if r.DryRun {
		words = append(words, "dry-run")
	}
	if r.Watch {
		words = append(words, "watch")
	}
	return fmt.Sprintf("%s %s #%d", strings.Join(words, " "), r.Path, r.N)
}

// uids matches the UIDs in names of volumes, which differ between runs.
var uids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func identify(r *http.Request, namespace string) Request {
	query := r.URL.Query()
	watch := query.Get("watch")
	path := uids.ReplaceAllString(r.URL.Path, "UID")
	if selector := query.Get("fieldSelector"); selector != "" {
		path += "?" + selector
	}
	path = strings.Replace(path, "/namespaces/"+namespace, "", 1)
	if namespace != "" { // objects without a namespace have it in their name
		path = strings.ReplaceAll(path, namespace, "NAMESPACE")
	}
	return Request{
		Method: r.Method,
		Path:   path,
		Watch:  watch == "true" || watch == "1",
		DryRun: query.Has("dryRun"),
		Paged:  query.Has("limit"),
	}
}

// Fault is a fault to inject into a request.
type Fault struct {
	Kind Kind
	// Duration is the duration of an outage or a delay.
	Duration time.Duration
	// Seed selects the events of WatchDropped.
	Seed uint64
}

// Plan returns the fault for a request, or nil for none.
type Plan func(Request) *Fault

// NoFaults is a plan without faults.
func NoFaults(Request) *Fault { return nil }

// Record is a request that the proxy received.
type Record struct {
	Request Request
	Fault   Kind // empty for none
	After   time.Duration
	Status  int // code of the response of the server; 0 for none yet
}

func (r Record) String() string {
	return strings.TrimRight(fmt.Sprintf("%8.3fs  %-90s %3d %s", r.After.Seconds(), r.Request, r.Status, r.Fault), " ")
}
