package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// roundTrip sends one request over an upgrade, and returns the body of the response.
func roundTrip(t *testing.T, u *Upgrade, host string) (body string, err error) {
	t.Helper()
	transport, err := rest.TransportFor(u.Config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, host, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return string(data), err
}

func TestRejectionOfAnUpgradeIsTheStatusOfTheServer(t *testing.T) {
	t.Parallel()
	failed := errors.New("unable to upgrade connection")
	for name, test := range map[string]struct {
		code   int
		body   string
		reason metav1.StatusReason // "" for another error
	}{
		"a status": {http.StatusForbidden, `{"kind":"Status","reason":"Forbidden"}`,
			metav1.StatusReasonForbidden},
		"another document": {http.StatusOK, `{"kind":"Pod","reason":"Forbidden"}`, ""},
		"text":             {http.StatusBadGateway, "no backend", ""},
		"an upgrade":       {http.StatusSwitchingProtocols, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.code)
				_, _ = io.WriteString(w, test.body)
			}))
			defer server.Close()
			settings := &rest.Config{Host: server.URL}
			u := NewUpgrade(t.Context(), settings)
			body, err := roundTrip(t, u, server.URL)
			if err != nil || body != test.body || settings.WrapTransport != nil {
				t.Errorf("the response is %q, %v; the settings were changed: %t", body, err,
					settings.WrapTransport != nil)
			}
			if got := u.Rejection(failed); apierrors.ReasonForError(got) != test.reason ||
				(test.reason == "") != errors.Is(got, failed) {
				t.Errorf("the rejection is %v", got)
			}
			if got := u.Rejection(nil); got != nil {
				t.Errorf("without an error, the rejection is %v", got)
			}
		})
	}
}

// The SPDY client quotes the response in its error, which Terraform shows.
func TestTextThatRejectsAnUpgradeIsHarmless(t *testing.T) {
	t.Parallel()
	const credential = "Bearer abcdefgh"
	for name, test := range map[string]struct{ body, want string }{
		"a control sequence": {"\x1b[31mno backend", "no backend"},
		"a command of a CI":  {"::error::no backend", ": :error::no backend"},
		"the credential":     {"bad token abcdefgh", "bad token (hidden)"},
		"the credential, in a Status": {`{"kind":"Status","message":"bad abcdefgh"}`,
			`{"kind":"Status","message":"bad (hidden)"}`},
	} {
		request := &http.Request{Header: http.Header{"Authorization": {credential}}}
		again, _, err := statusOf(request, io.NopCloser(strings.NewReader(test.body)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(again); err != nil || string(got) != test.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, test.want)
		}
	}
}

func TestRejectionOfAnEarlierAttemptIsForgotten(t *testing.T) {
	t.Parallel()
	attempts := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if attempts++; attempts == 1 {
			_, _ = io.WriteString(w, `{"kind":"Status","reason":"BadRequest"}`)
			return
		}
		w.WriteHeader(http.StatusSwitchingProtocols)
	}))
	defer server.Close()
	u := NewUpgrade(t.Context(), &rest.Config{Host: server.URL})
	failed := errors.New("broken")
	for _, rejected := range []bool{true, false} {
		if _, err := roundTrip(t, u, server.URL); err != nil {
			t.Fatal(err)
		}
		if got := u.Rejection(failed); errors.Is(got, failed) == rejected {
			t.Errorf("after %d attempts: %v", attempts, got)
		}
	}
}

func TestUpgradeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	host := kubetest.Forbidden(t)
	_, err := roundTrip(t, NewUpgrade(ctx, &rest.Config{Host: host}), host)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestUpgradesFollowNoRedirect(t *testing.T) {
	t.Parallel()
	resolved, err := config.Config{Host: kubetest.Redirecting(t)}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	u := NewUpgrade(t.Context(), resolved.REST)
	if _, err := roundTrip(t, u, resolved.REST.Host); err == nil {
		t.Error("no error")
	}
	if _, ok := errors.AsType[*config.RedirectError](u.Rejection(errors.New("failed"))); !ok {
		t.Errorf("the rejection is %v", u.Rejection(errors.New("failed")))
	}
}

func TestBrokenResponseToAnUpgradeIsAnError(t *testing.T) {
	t.Parallel()
	failed := errors.New("broken")
	for name, body := range map[string]io.ReadCloser{
		"while it is read":   brokenBody{io.MultiReader(strings.NewReader("{"), failingReader{failed}), nil},
		"while it is closed": brokenBody{strings.NewReader("{}"), failed},
	} {
		again, rejection, err := statusOf(&http.Request{}, body)
		if !errors.Is(err, failed) || again != nil || rejection != nil {
			t.Errorf("%s: %v, %v, %v", name, again, rejection, err)
		}
	}
}

// failingReader returns an error.
type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

// brokenBody is a response whose end fails.
type brokenBody struct {
	io.Reader

	closed error
}

func (b brokenBody) Close() error { return b.closed }

func TestConnectionsWithoutWebSocketAreRecognized(t *testing.T) {
	t.Parallel()
	for want, errs := range map[bool][]error{
		true: {&httpstream.UpgradeFailureError{Cause: errors.New("400")},
			errors.New("proxy: unknown scheme: https")},
		false: {nil, errors.New("connection refused")},
	} {
		for _, err := range errs {
			if got := NoWebSocket(err); got != want {
				t.Errorf("%v: %t, want %t", err, got, want)
			}
		}
	}
}
