package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// step is the response of a server to one attempt of a request.
type step func(*http.Request) (*http.Response, error)

// scripted is a server that makes one step for each attempt, the last one again and again.
type scripted struct {
	steps  []step
	began  time.Time
	at     []time.Duration // times of the attempts
	bodies []string
	last   context.Context // of the last attempt
	// ready are the steps of requests for /readyz, the last one again and again. Without any, the server is ready.
	ready  []step
	checks int
}

// newSteps returns a retrier in front of a server. Its time is that of the bubble of synctest.
func newSteps(list ...step) (*retrier, *scripted) {
	server := &scripted{steps: list, began: time.Now()}
	return newRetrier(server, clock.RealClock{}, serverURL(), DefaultLimits()), server
}

func serverURL() *url.URL { return &url.URL{Scheme: "https", Host: "h"} }

func (s *scripted) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Path == "/readyz" {
		s.checks++
		if len(s.ready) == 0 {
			return responds(http.StatusOK, "ok")(request)
		}
		return s.ready[min(s.checks, len(s.ready))-1](request)
	}
	s.at = append(s.at, time.Since(s.began))
	s.last = request.Context()
	if request.Body != nil {
		body, _ := io.ReadAll(request.Body)
		s.bodies = append(s.bodies, string(body))
	}
	next := s.steps[min(len(s.at), len(s.steps))-1]
	return next(request)
}

// responds returns the step of a response with a code and a body, which is JSON unless it is a plain text.
func responds(code int, body string, headers ...string) step {
	return func(*http.Request) (*http.Response, error) {
		return response(code, io.NopCloser(strings.NewReader(body)), headers...), nil
	}
}

func response(code int, body io.ReadCloser, headers ...string) *http.Response {
	header := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Header: header, Body: body}
}

// hangs is the step of a server that does not respond.
func hangs(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

func breaks(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection reset by peer")
}

// found is the body of a response with the object at [kubetest.TrainerPath].
const found = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"trainer","namespace":"ml"}}`

// refused is the body of a Status with a code and a reason.
func refused(reason, message string) string {
	return `{"kind":"Status","status":"Failure","reason":"` + reason + `","message":"` + message + `"}`
}

// asks returns a request. The body of an apply, patch or deletion limits it to one version or object.
func asks(ctx context.Context, t *testing.T, what string) *http.Request {
	t.Helper()
	const at = "https://h" + kubetest.TrainerPath
	method, target, contentType, body := http.MethodGet, at, "", ""
	switch what {
	case "read":
	case "watch":
		target += "?watch=true"
	case "watch that lists":
		target += "?watch=true&sendInitialEvents=true"
	case "apply":
		method, contentType, body = http.MethodPatch, "application/apply-patch+yaml", `{"a":1}`
	case "delete":
		method, contentType, body = http.MethodDelete, "application/json", `{"preconditions":{"uid":"u"}}`
	case "create":
		method, contentType, body = http.MethodPost, "application/json", `{"a":1}`
	default:
		t.Fatalf("unknown request %q", what)
	}
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	return request
}

// reached makes the first request of a run, which the server answers.
func reached(t *testing.T, r *retrier) {
	t.Helper()
	response, err := r.RoundTrip(asks(t.Context(), t, "read"))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
}
