package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestProblemsOfTheServerAreDistinguishedFromThoseOfAnObject(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err         error
		failed      bool // the server
		aboutServer bool
	}{
		"no response":        {&Error{Class: Unreachable}, true, true},
		"credentials":        {&Error{Class: Unauthorized}, true, true},
		"an internal error":  {&Error{Class: Other}, true, true},
		"the end of the run": {&Error{Class: Canceled}, false, true},
		"a lost response":    {&Error{Class: Refused, OutcomeUnknown: true}, false, true},
		"a rejection":        {&Error{Class: Refused}, false, false},
		"a missing object":   {fmt.Errorf("read: %w", &Error{Class: NotFound}), false, false},
		"another error":      {errors.New("other"), false, false},
		"none":               {nil, false, false},
	} {
		if failed, about := IsServerFailure(test.err), AboutServer(test.err); failed != test.failed ||
			about != test.aboutServer {
			t.Errorf("%s: failed %t, about the server %t", name, failed, about)
		}
	}
}

// A server that starts or stops rejects objects because its requests to itself fail.
func TestFailedRequestsOfTheServerAreNotRejections(t *testing.T) {
	t.Parallel()
	for reason, test := range map[metav1.StatusReason]struct {
		code  int32
		class Class
	}{
		metav1.StatusReasonForbidden:  {http.StatusForbidden, Unreachable},
		metav1.StatusReasonInvalid:    {http.StatusUnprocessableEntity, Unreachable},
		metav1.StatusReasonBadRequest: {http.StatusBadRequest, Invalid},
		metav1.StatusReasonConflict:   {http.StatusConflict, Conflict},
	} {
		for _, message := range []string{kubetest.NoServiceAccount, kubetest.NoAddress} {
			failure := trainerFailure(t, statusError(test.code, reason, message, nil))
			if failure.Class != test.class {
				t.Errorf("%s: class %d, want %d", reason, failure.Class, test.class)
			}
		}
	}
}

func TestFieldsOfARejectionAreKept(t *testing.T) {
	t.Parallel()
	for reason, code := range map[metav1.StatusReason]int32{
		metav1.StatusReasonInternalError: http.StatusInternalServerError,
		metav1.StatusReasonConflict:      http.StatusConflict, metav1.StatusReasonUnknown: http.StatusBadRequest,
		metav1.StatusReasonBadRequest: http.StatusBadRequest, metav1.StatusReasonForbidden: http.StatusForbidden,
	} {
		failure := trainerFailure(t, statusError(code, reason, "failed", about("deployments", "apps", "trainer",
			metav1.StatusCause{Field: "spec.a", Message: "no"}, metav1.StatusCause{Message: "without a field"})))
		if len(failure.Fields) != 1 || failure.Fields[0] != (FieldCause{Field: "spec.a", Message: "no"}) {
			t.Errorf("%s: %+v", reason, failure.Fields)
		}
	}
}

func TestUnknownOutcomeIsExplained(t *testing.T) {
	t.Parallel()
	const words = "It is unknown whether the server executed the request."
	for _, unknown := range []bool{true, false} {
		failure := trainerFailure(t, tried(errors.New("connection reset")))
		failure.OutcomeUnknown, failure.explained = unknown, &sync.Map{}
		_, cause := failure.Explain()
		if brief, again := failure.Again(); again || brief != "" {
			t.Errorf("the first time: %t, %q", again, brief)
		}
		brief, again := failure.Again()
		if !again || strings.Contains(cause.Summary, words) != unknown || strings.Contains(brief, words) != unknown {
			t.Errorf("unknown %t: %q, again %t: %q", unknown, cause.Summary, again, brief)
		}
	}
}

func TestOnlyTheSameOutageIsNotExplainedAgain(t *testing.T) {
	t.Parallel()
	of := func(err error, explained *sync.Map) *Error {
		failure := trainerFailure(t, err)
		failure.explained = explained
		return failure
	}
	run := &sync.Map{}
	refused := &url.Error{Op: "Get", URL: "https://h/a", Err: errors.New("connection refused")}
	other := &url.Error{Op: "Get", URL: "https://h/b", Err: errors.New("connection refused")}
	reset := &url.Error{Op: "Get", URL: "https://h/b", Err: errors.New("connection reset")}
	for i, test := range []struct {
		failure *Error
		again   bool
	}{
		{of(refused, run), false}, {of(other, run), true}, {of(reset, run), false}, {of(refused, nil), false},
		{of(refused, nil), false}, {of(refused, &sync.Map{}), false},
		{of(statusError(http.StatusForbidden, metav1.StatusReasonForbidden, "no", nil), run), false},
		{of(statusError(http.StatusForbidden, metav1.StatusReasonForbidden, "no", nil), run), false},
	} {
		if brief, again := test.failure.Again(); again != test.again || again != (brief != "") {
			t.Errorf("%d: again %t: %s", i, again, brief)
		}
	}
}

func TestFailedRequestsAreShownWithoutQueryAndPassword(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"GET https://u:xxxxx@h/a: no": &url.Error{Op: "Get", URL: "https://u:pass@h/a?b=c", Err: errors.New("no")},
		"no":                          errors.New("no"),
		`Get "https://h:port/?b": no`: &url.Error{Op: "Get", URL: "https://h:port/?b", Err: errors.New("no")},
	} {
		if got := attempt(err); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestKindsOfUnknownOperatorsAreToBeInstalled(t *testing.T) {
	t.Parallel()
	custom, core := Kind{}, Kind{}
	custom.Group, custom.Version, custom.Kind = "example.com", "v2", "Run"
	core.Group, core.Version, core.Kind = "apps", "v2", "Run"
	for want, of := range map[string]Kind{
		"Install its operator, which provides the required CRD runs.example.com with version v2.": custom,
		"Install its operator or its CRD. For a kind of Kubernetes, correct ":                     core,
	} {
		if got := toInstall(of).In(); !strings.HasPrefix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	_, cause := trainerFailure(t, context.Canceled).Explain()
	if cause.Hint.In() != "" || cause.Command != "" {
		t.Errorf("a next step after an interrupt: %+v", cause)
	}
}

func TestReferencesAreArgumentsOfKubectl(t *testing.T) {
	t.Parallel()
	for want, ref := range map[string]Ref{
		"kubectl -n ml describe deployments trainer -o wide": trainer(),
		"kubectl describe storageclasses.storage.k8s.io trainer -o wide": {Kind: kind.StorageClass(), Namespace: "ml",
			Name: "trainer"},
	} {
		if got := ref.Kubectl("describe", "-o", "wide"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestErrorsAboutACreationNameTheObject(t *testing.T) {
	t.Parallel()
	err := &ExistsError{Ref: trainer()}
	if got, want := err.Error(), "Deployment ml/trainer was created by another client at the same time"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
