package registry

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// FuzzResolve resolves a tag with arbitrary responses. The result must be a digest or an *Error.
func FuzzResolve(f *testing.F) {
	const digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	for _, seed := range []struct {
		code                                 int
		challenge, digest, contentType, body string
	}{
		{200, "", digest, "application/vnd.oci.image.index.v1+json", "{}"},
		{200, "", "sha256:a", "application/vnd.oci.image.manifest.v1+json", "{}"},
		{200, "", "", "", `{"schemaVersion": 2, "manifests": [null]}`},
		{401, `Bearer realm="REALM/token",service="a",scope="b"`, "", "application/json",
			`{"token": "x\ny", "expires_in": -1}`},
		{401, `Bearer realm="REALM/token`, "", "application/json",
			`{"errors": [{"code": "DENIED", "message": "\u001b[2J"}]}`},
		{401, "Basic", digest, "text/html", "<html>"}, {403, ",", "", "", ""}, {404, "", "../../a@b", "a/b; c", ""},
		{429, "", "md5:0", "application/json", `{"errors": null}`}, {101, "", "", "", ""}, {999, "", "", "", ""},
	} {
		f.Add(seed.code, seed.challenge, seed.digest, seed.contentType, seed.body)
	}
	valid := regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	f.Fuzz(func(t *testing.T, code int, challenge, digest, contentType, body string) {
		if code < 200 || code > 999 { // which the server cannot send
			code = 200 + int(uint(code)%800)
		}
		if code >= 300 && code < 400 || strings.Contains(challenge, "//") {
			return // it requests another host
		}
		var s *testRegistry
		s = serve(t, func(w http.ResponseWriter, _ *http.Request) bool {
			for name, value := range map[string]string{"Docker-Content-Digest": digest, "Content-Type": contentType,
				"WWW-Authenticate": strings.ReplaceAll(challenge, "REALM", s.server.URL)} {
				if value != "" {
					w.Header().Set(name, value)
				}
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
			return true
		})
		pin, err := NewWith(noKeychain{}).Resolve(t.Context(), s.host+"/a:1")
		if _, ok := err.(*Error); err != nil && !ok { //nolint:errorlint // not a wrapped one
			t.Errorf("%T: %v", err, err)
		}
		if err == nil && (!valid.MatchString(pin.Digest) || pin.Image != s.host+"/a@"+pin.Digest) {
			t.Errorf("%+v", pin)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\x1b\r") {
			t.Errorf("the error contains control characters: %q", err)
		}
	})
}
