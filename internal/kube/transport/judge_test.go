package transport

import (
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// timeout is an error of a connection that takes too long.
type timeout struct{}

func (timeout) Error() string   { return "i/o timeout" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

func TestFailedAttemptsAreJudgedByTheirCause(t *testing.T) {
	t.Parallel()
	const first, restart, always = 5 * time.Second, 30 * time.Second, 75 * time.Second
	dial := func(err error) error { return &net.OpError{Op: "dial", Err: err} }
	connected := state{reached: true, accepted: true}
	starting := state{reached: true, accepted: true, starting: true}
	status := func(code int, reason, message string) *reply { return replyOf(code, refused(reason, message)) }
	for name, test := range map[string]struct {
		known    state
		category category
		reply    *reply
		err      error
		want     judgement
	}{
		"no credentials": {connected, read, nil, errors.New("getting credentials: exec: aws failed"), judgement{}},
		"another failure that quotes credentials": {connected, read, nil, errors.New("no: getting credentials: "),
			judgement{again: true, within: restart}},
		"a wrong certificate": {connected, write, nil, x509.UnknownAuthorityError{}, judgement{}},
		"an unknown host":     {state{}, read, nil, dial(&net.DNSError{}), judgement{within: first}},
		"a name server that failed once": {connected, read, nil, dial(&net.DNSError{}),
			judgement{again: true, within: restart}},
		"no listener": {state{}, write, nil, dial(errors.New("refused")),
			judgement{again: true, within: 2 * time.Second}},
		"no listener at the proxy": {state{}, read, nil, &net.OpError{Op: "proxyconnect", Err: errors.New("refused")},
			judgement{again: true, within: 2 * time.Second}},
		"a restart of the server": {connected, write, nil, dial(errors.New("refused")),
			judgement{again: true, within: restart}},
		"a host that drops packets": {state{}, read, nil, dial(timeout{}), judgement{within: 2 * time.Second}},
		"a network that is down meanwhile": {connected, read, nil, dial(timeout{}), judgement{again: true,
			within: restart}},
		"a broken connection of a read": {state{}, read, nil, &net.OpError{Op: "read", Err: errors.New("reset")},
			judgement{again: true, within: first}},
		"a broken connection of a write": {connected, write, nil, io.ErrUnexpectedEOF,
			judgement{again: true, unknown: true, within: restart}},
		"a broken connection of a creation": {connected, once, nil, io.ErrUnexpectedEOF,
			judgement{unknown: true, within: restart}},

		"a success": {connected, write, replyOf(200, "{}"), nil, judgement{settled: true}},
		"a text that is no JSON": {connected, read, replyOf(200, "line", "Content-Type", "text/plain"), nil,
			judgement{settled: true}},
		"an unexpected redirection": {connected, write, replyOf(300, ""), nil, judgement{}},
		"expired credentials": {connected, write, status(401, "Unauthorized", "no"), nil,
			judgement{again: true, within: restart, tries: 4}},
		"credentials that never worked": {state{reached: true}, write, status(401, "Unauthorized", "no"), nil,
			judgement{again: true, within: restart, tries: 2}},
		"no permission": {connected, write, status(403, "Forbidden", "no"), nil, judgement{within: restart,
			tries: 7}},
		"no roles yet": {starting, write, status(403, "Forbidden", "no"), nil,
			judgement{again: true, within: restart, tries: 7}},
		"a server that cannot reach itself": {connected, write, status(403, "Forbidden",
			strings.ReplaceAll(kubetest.NoServiceAccount, `"`, `\"`)), nil, judgement{again: true, within: restart}},
		"a server without an address to give": {connected, write, status(422, "Invalid",
			strings.ReplaceAll(kubetest.NoAddress, `"`, `\"`)), nil, judgement{again: true, within: restart}},
		"an invalid object": {connected, write, status(422, "Invalid", "spec.replicas: Invalid value"), nil,
			judgement{settled: true}},
		"throttled by the server": {state{}, write, replyOf(429, "", "Retry-After", "1"), nil,
			judgement{again: true, within: always, after: time.Second}},
		"throttled by a gateway": {state{}, once, replyOf(429, ""), nil, judgement{again: true, within: first}},
		"a delay that is a date": {state{}, write, replyOf(429, "", "Retry-After", "Wed, 21 Oct 2026"), nil,
			judgement{again: true, within: first}},
		"a disruption budget": {connected, once, replyOf(429, `{"kind":"Status","details":{"causes":[
			{"reason":"DisruptionBudget","message":"no."}]}}`), nil, judgement{settled: true}},
		"a gateway without a route": {connected, read, replyOf(404, "not found", "Content-Type", "text/plain"), nil,
			judgement{again: true, within: restart, tries: 4}},
		"an object that does not exist": {connected, read, status(404, "NotFound", "no"), nil,
			judgement{settled: true}},
		"a web page that does not exist": {connected, read, replyOf(404, "<html>", "Content-Type", "text/html"), nil,
			judgement{}},
		"fields of another manager": {connected, write, replyOf(409, `{"kind":"Status","details":{"causes":[
			{"reason":"FieldManagerConflict"}]}}`), nil, judgement{settled: true}},
		"another writer was first": {connected, write, status(409, "Conflict", "changed"), nil,
			judgement{again: true, settled: true, within: restart, tries: 5}},
		"a field of another type": {connected, write, status(500, "", "failed to create typed patch object"), nil,
			judgement{settled: true}},
		"a webhook that does not respond": {connected, write, status(500, "InternalError",
			`Internal error occurred: failed calling webhook \"x\"`), nil,
			judgement{again: true, settled: true, within: restart, tries: 4}},
		"a webhook that does not respond to a creation": {connected, once, status(500, "InternalError",
			`Internal error occurred: failed calling webhook \"x\"`), nil,
			judgement{again: true, settled: true, within: restart, tries: 4}},
		"slow storage": {connected, write, status(500, "InternalError", "etcd"), nil,
			judgement{again: true, unknown: true, within: restart}},
		"a server that starts": {connected, read, replyOf(503, "", "Retry-After", "2"), nil,
			judgement{again: true, within: restart, after: 2 * time.Second}},
		"not implemented": {connected, write, replyOf(501, ""), nil, judgement{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := asks(t.Context(), t, "apply")
			if got := judge(request, test.category, test.reply, test.err, test.known); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// replyOf returns a response whose body has been read. It is JSON without another type in the headers.
func replyOf(code int, body string, headers ...string) *reply {
	return &reply{Response: response(code, nil, headers...), body: []byte(body)}
}

// Outside the groups of Kubernetes, a path may not be served, and another write is not idempotent.
func TestMissingPathsAndConflictsAreRetriedOnlyWhereTheyAreTemporary(t *testing.T) {
	t.Parallel()
	notFound := replyOf(404, "not found", "Content-Type", "text/plain")
	for path, again := range map[string]bool{
		"/api/v1/namespaces/ml/pods/a": true, "/apis/apps/v1/namespaces/ml/deployments": true,
		"/apis/batch/v1/namespaces/ml/jobs/a": true, "/prefix/apis/policy/v1/namespaces/ml/x": true,
		"/apis/example.com/v1/namespaces/ml/runs/a": false, "/apis/apps/v1": false, "/apis/example.com/v1": false,
	} {
		request := asks(t.Context(), t, "read")
		request.URL.Path = path
		if got := judge(request, read, notFound, nil, state{reached: true}); got.again != again {
			t.Errorf("%s: again %t, want %t", path, got.again, again)
		}
	}
	deletion := asks(t.Context(), t, "delete")
	conflict := replyOf(409, refused("Conflict", "changed"))
	if got := judge(deletion, write, conflict, nil, state{}); got != (judgement{settled: true}) {
		t.Errorf("a deletion that conflicts: %+v", got)
	}
}

func TestRequestsAreCategorizedByTheirEffect(t *testing.T) {
	t.Parallel()
	unreadable := func() (io.ReadCloser, error) { return nil, errors.New("unreadable") }
	broken := func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)), nil }
	for name, test := range map[string]struct {
		method, target, contentType, body string
		change                            func(*http.Request)
		want                              category
	}{
		"a watch by number":       {"GET", "/api/v1/pods?watch=1", "", "", nil, stream},
		"a followed log":          {"GET", "/api/v1/pods/a/log?follow=true", "", "", nil, stream},
		"a complete log":          {"GET", "/api/v1/pods/a/log?tailLines=9", "", "", nil, stream},
		"a limited log":           {"GET", "/api/v1/pods/a/log?limitBytes=9", "", "", nil, read},
		"a dry run of a creation": {"POST", "/api/v1/pods?dryRun=All", "application/json", "{}", nil, read},
		"a dry run of a deletion": {"DELETE", "/api/v1/pods/a?dryRun=All", "", "{}", nil, read},
		"a review of permissions": {"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "", "{}",
			nil, read},
		"an exec": {"GET", "/api/v1/pods/a/exec", "", "",
			func(r *http.Request) { r.Header.Set("Upgrade", "x") }, upgrade},
		"an update": {"PUT", "/api/v1/pods/a", "application/json",
			`{"metadata":{"resourceVersion":"1"}}`, nil, once},
		"an eviction": {"POST", "/api/v1/pods/a/eviction", "", `{"preconditions":{"uid":"u"}}`,
			nil, once},
		"a deletion without a body": {"DELETE", "/api/v1/pods/a", "", "", nil, once},
		"a deletion of one version": {"DELETE", "/api/v1/pods/a", "",
			`{"preconditions":{"resourceVersion":"1"}}`, nil, once},
		"a deletion of text": {"DELETE", "/api/v1/pods/a", "", `uid`, nil, once},
		"an apply without a body to repeat": {"PATCH", "/api/v1/pods/a", "application/apply-patch+yaml", "{}",
			func(r *http.Request) { r.GetBody = nil }, once},
		"another request with the type of an apply": {"POST", "/api/v1/pods", "application/apply-patch+yaml",
			"{}", nil,
			once},
		"a body that cannot be opened": {"PATCH", "/api/v1/pods/a", "application/merge-patch+json", "{}",
			func(r *http.Request) { r.GetBody = unreadable }, once},
		"a body that cannot be read": {"PATCH", "/api/v1/pods/a", "application/merge-patch+json", "{}",
			func(r *http.Request) { r.GetBody = broken }, once},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, "https://h"+test.target,
			strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", test.contentType)
		if test.change != nil {
			test.change(request)
		}
		if got := categoryOf(request); got != test.want {
			t.Errorf("%s: category %d, want %d", name, got, test.want)
		}
	}
}

func TestBodyThatDecidesTheCategoryIsClosed(t *testing.T) {
	t.Parallel()
	request, closed := asks(t.Context(), t, "delete"), 0
	request.GetBody = func() (io.ReadCloser, error) { return closing{strings.NewReader(`{}`), &closed}, nil }
	if got := categoryOf(request); got != once || closed != 1 {
		t.Errorf("category %d, closed %d times", got, closed)
	}
}

func TestOnlyResponsesOfAWorkingServerEndAnOutage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reply *reply
		want  bool
	}{
		"an object":                {replyOf(200, "{}"), true},
		"a login page":             {replyOf(200, "<html>", "Content-Type", "text/html"), false},
		"a redirection":            {replyOf(302, ""), false},
		"a rejection":              {replyOf(403, refused("Forbidden", "no")), true},
		"a rejection by a gateway": {replyOf(403, "no"), false},
		"another JSON":             {replyOf(404, `{"detail":"Not Found"}`), false},
		"a failure of the server":  {replyOf(500, refused("InternalError", "no")), false},
		"an overloaded server":     {replyOf(429, refused("TooManyRequests", "no")), false},
		"a disruption budget": {replyOf(429,
			`{"kind":"Status","details":{"causes":[{"reason":"DisruptionBudget","message":"no"}]}}`), true},
		"a budget without a message": {replyOf(429,
			`{"kind":"Status","details":{"causes":[{"reason":"DisruptionBudget"}]}}`), false},
	} {
		if got := test.reply.byServer(); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

func TestOutageBeginsWithTheFirstFailureOfASeries(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	failure := errors.New("reset")
	h := &health{}
	for _, step := range []struct {
		at    int
		reply *reply
		want  state
	}{
		{0, nil, state{failing: at(0)}},
		{30, nil, state{failing: at(0)}},
		{61, nil, state{failing: at(61)}}, // no requests for more than 30 s
		{62, replyOf(401, refused("Unauthorized", "no")), state{reached: true}},
		{72, replyOf(200, "{}"), state{reached: true, accepted: true}},
		{73, replyOf(503, ""), state{reached: true, accepted: true, failing: at(73)}},
		{74, replyOf(403, refused("Forbidden", "no")), state{reached: true, accepted: true}},
	} {
		var err error
		if step.reply == nil {
			err = failure
		}
		if got := h.note(at(step.at), step.reply, err); got != step.want {
			t.Errorf("after %d s: %+v; want %+v", step.at, got, step.want)
		}
	}
}

// All requests of a run share one wait for the server, and a write with an unknown outcome has a time of its own.
func TestTimeOfRetriesBeginsWithTheOutage(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	restart := judgement{again: true, within: 30 * time.Second}
	for name, test := range map[string]struct {
		past    history
		verdict judgement
		failing time.Time
		at      int
		want    bool
	}{
		"the first second":                 {history{failed: at(0)}, restart, time.Time{}, 29, true},
		"the last second":                  {history{failed: at(0)}, restart, time.Time{}, 30, false},
		"an outage that began before":      {history{failed: at(10), started: at(10)}, restart, at(0), 29, true},
		"an outage that began long before": {history{failed: at(10), started: at(10)}, restart, at(0), 30, false},
		"an outage that began later":       {history{failed: at(0)}, restart, at(10), 30, false},
		"throttled during an outage": {history{failed: at(10), started: at(10)},
			judgement{again: true, within: 75 * time.Second}, at(0), 80, true},
		"a long request":     {history{failed: at(60), started: at(0)}, restart, time.Time{}, 74, true},
		"a too long request": {history{failed: at(60), started: at(0)}, restart, time.Time{}, 75, false},
		"fewer attempts": {history{failed: at(0), tries: 3}, judgement{within: time.Minute, tries: 4},
			time.Time{}, 1, true},
		"the last attempt": {history{failed: at(0), tries: 4}, judgement{within: time.Minute, tries: 4},
			time.Time{}, 1, false},
		"only one attempt": {history{failed: at(0), tries: 1}, judgement{within: time.Minute, tries: 1}, at(0), 1,
			false},
		"an unknown outcome":    {history{failed: at(80), unknown: true}, restart, at(0), 94, true},
		"unknown for some time": {history{failed: at(80), unknown: true}, restart, at(0), 95, false},
	} {
		past := test.past
		if past.started.IsZero() {
			past.started = start
		}
		if got := past.allows(at(test.at), test.verdict, test.failing); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
	settling := history{started: at(0), failed: at(70), unknown: true}
	if got := settling.left(at(71)); got != 14*time.Second {
		t.Errorf("%v left after an unknown outcome, want 14 s", got)
	}
	if got := (&history{started: at(0), failed: at(10), unknown: true}).left(at(11)); got != 64*time.Second {
		t.Errorf("%v left of the request, want 64 s", got)
	}
	if got := (&history{started: at(0), failed: at(70)}).left(at(71)); got != 4*time.Second {
		t.Errorf("%v left after a known outcome, want 4 s", got)
	}
}

func TestOutcomeStaysUnknownUntilTheServerSettlesIt(t *testing.T) {
	t.Parallel()
	now := time.Now()
	past := history{}
	for i, step := range []struct {
		verdict judgement
		want    bool
	}{
		{judgement{}, false}, {judgement{unknown: true}, true}, {judgement{}, true}, {judgement{settled: true}, false},
	} {
		past.note(now.Add(time.Duration(i)), step.verdict)
		if past.unknown != step.want || past.tries != i+1 || !past.failed.Equal(now) {
			t.Errorf("step %d: %+v", i, past)
		}
	}
	o := &Outcome{}
	o.note(true)
	o.note(false)
	if o.unknown.Load() || !o.doubtful.Load() {
		t.Error("a settled outcome was never in doubt, or is unknown")
	}
	if o.responded(nil); o.status.Load() != 0 {
		t.Error("a failed attempt has a status")
	}
}

func TestOnlyIdempotentWritesAreRetried(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method, contentType, query, body string
		want                             category
	}{
		"get":                  {"GET", "", "", "", read},
		"watch":                {"GET", "", "?watch=true", "", stream},
		"apply":                {"PATCH", "application/apply-patch+yaml", "?fieldManager=a", "{}", write},
		"dry run":              {"PATCH", "application/apply-patch+yaml", "?dryRun=All", "{}", read},
		"delete with a UID":    {"DELETE", "application/json", "", `{"preconditions":{"uid":"u"}}`, write},
		"delete without a UID": {"DELETE", "application/json", "", `{}`, once},
		"patch of any state":   {"PATCH", "application/json-patch+json", "", `[]`, once},
		"patch of one state": {"PATCH", "application/json-patch+json", "",
			`[{"op":"replace","path":"/metadata/resourceVersion","value":"1"}]`, write},
		"merge patch of one state": {"PATCH", "application/merge-patch+json", "",
			`{"metadata":{"resourceVersion":"1"}}`, write},
		"creation": {"POST", "application/json", "", `{}`, once},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, err := http.NewRequestWithContext(t.Context(), test.method, "https://h/x"+test.query,
				strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", test.contentType)
			if got := categoryOf(request); got != test.want {
				t.Errorf("category %d, want %d", got, test.want)
			}
		})
	}
}
