package transport

import (
	"net/http"
	"testing"
	"time"
)

// FuzzJudge judges arbitrary responses. A server must not choose a delay without a limit, nor make a request be
// repeated that succeeded, or that must not be repeated.
func FuzzJudge(f *testing.F) {
	for _, seed := range []struct {
		code                     int
		after, contentType, body string
	}{
		{200, "", "application/json", "{}"}, {429, "1", "", ""}, {429, "-1", "", ""},
		{503, "9999999999999999999", "", ""},
		{429, "9223372036", "application/json", `{"kind": "Status", "details": {"causes": [{"reason":
			"DisruptionBudget", "message": "The disruption budget a needs 1 healthy pods"}]}}`},
		{409, "Wed, 21 Oct 2026 07:28:00 GMT", "application/json", `{"kind": "Status", "details": {"causes": [null]}}`},
		{500, "0x10", "text/html", `failed calling webhook "a"`}, {404, "1e9", "text/plain", "404 page not found"},
	} {
		f.Add(seed.code, seed.after, seed.contentType, seed.body)
	}
	f.Fuzz(func(t *testing.T, code int, after, contentType, body string) {
		reply := replyOf(code, body)
		reply.Header.Set("Retry-After", after)
		reply.Header.Set("Content-Type", contentType)
		for _, what := range []string{"read", "apply", "create"} {
			request := asks(t.Context(), t, what)
			for _, c := range []category{read, write, once, stream, upgrade} {
				got := judge(request, c, reply, nil, state{reached: true})
				switch {
				case got.after < 0 || got.after > 100*365*24*time.Hour, got.within < 0 || got.within > RequestTime:
					t.Errorf("%+v", got)
				case got.again && code < http.StatusMultipleChoices:
					t.Errorf("a successful request is repeated: %+v", got)
				case got.again && got.unknown && c == once:
					t.Errorf("a write that may have been executed is repeated: %+v", got)
				}
			}
		}
	})
}
