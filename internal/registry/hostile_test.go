package registry

import (
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
)

// counter counts the bytes that were written to it, and fails beyond a limit, so that a test ends.
type counter struct {
	io.Writer

	written *atomic.Int64
}

func (c counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	if c.written.Add(int64(n)) > 1<<30 {
		panic(http.ErrAbortHandler)
	}
	return n, err
}

func TestAHostileRegistryEndsInAnError(t *testing.T) {
	t.Parallel()
	const limit = 100 << 20 // of all requests, with the buffers of the connections
	basic := base64.StdEncoding.EncodeToString([]byte("alice:canary"))
	spaces := func(w io.Writer) {
		for line := []byte(strings.Repeat(" ", 1<<20)); ; {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}
	for name, respond := range map[string]func(w http.ResponseWriter, body io.Writer){
		"a ping without an end": func(w http.ResponseWriter, body io.Writer) {
			w.Header().Set("WWW-Authenticate", `Basic realm="a"`)
			w.WriteHeader(http.StatusUnauthorized)
			spaces(body)
		},
		"a manifest without an end": func(_ http.ResponseWriter, body io.Writer) { spaces(body) },
		"an error without an end": func(w http.ResponseWriter, body io.Writer) {
			w.WriteHeader(http.StatusBadRequest)
			spaces(body)
		},
		"a compressed manifest": func(w http.ResponseWriter, body io.Writer) {
			w.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(body)
			_, _ = io.CopyN(zip, zeros{}, 300<<20)
			_ = zip.Close()
		},
		"an announced size": func(w http.ResponseWriter, body io.Writer) {
			w.Header().Set("Content-Length", fmt.Sprint(int64(1)<<62))
			_, _ = body.Write([]byte("{}"))
		},
		"an echo of the credentials": func(w http.ResponseWriter, body io.Writer) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(body, `{"errors":[{"code":"DENIED","message":"Basic `+basic+`"}]}`)
		},
		"commands": func(w http.ResponseWriter, body io.Writer) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(body, `{"errors":[{"code":"\u001b[2J","message":"\n::add-mask::x\u202e"}]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var written atomic.Int64
			s := serve(t, func(w http.ResponseWriter, req *http.Request) bool {
				if (name == "a ping without an end") != (req.URL.Path == "/v2/") {
					return false
				}
				if req.Method == http.MethodHead { // a body would be discarded
					w.WriteHeader(http.StatusMethodNotAllowed)
					return true
				}
				w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
				respond(w, counter{w, &written})
				return true
			})
			_, err := NewWith(login{s.host, "alice", "canary"}).Resolve(t.Context(), s.host+"/a:1")
			if err == nil || strings.ContainsAny(err.Error(), "\x1b\u202e") ||
				strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), basic) {
				t.Errorf("got %v", err)
			}
			if written.Load() > limit {
				t.Errorf("%d MiB were received", written.Load()>>20)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestCredentialsOfARegistryAreNotSentElsewhere(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			var visits atomic.Int32
			other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				visits.Add(1)
				for name, values := range req.Header {
					if name == "Authorization" || strings.Contains(fmt.Sprint(values), "canary") {
						t.Errorf("the other server receives %s: %s", name, values)
					}
				}
				w.WriteHeader(http.StatusNotFound)
			}))
			t.Cleanup(other.Close)
			authenticated := false
			s := serve(t, func(w http.ResponseWriter, req *http.Request) bool {
				if _, password, ok := req.BasicAuth(); !ok || password != "canary" {
					w.Header().Set("WWW-Authenticate", `Basic realm="a"`)
					w.WriteHeader(http.StatusUnauthorized)
					return true
				}
				authenticated = true
				// Another port of the same host is another server.
				http.Redirect(w, req, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/elsewhere", code)
				return true
			})
			if _, err := NewWith(login{s.host, "alice", "canary"}).Resolve(t.Context(), s.host+"/a:1"); err == nil {
				t.Error("there is no error")
			}
			if !authenticated || visits.Load() == 0 {
				t.Errorf("authenticated %t, %d visits of the other server", authenticated, visits.Load())
			}
		})
	}
}

// identity is a keychain with a refresh token.
type identity string

func (i identity) Resolve(authn.Resource) (authn.Authenticator, error) {
	return authn.FromConfig(authn.AuthConfig{IdentityToken: string(i)}), nil
}

func TestCredentialsAreNotSentToAnAuthorizationServerThatAnotherHostNames(t *testing.T) {
	t.Parallel()
	const secret = "canary"
	basic := base64.StdEncoding.EncodeToString([]byte("alice:" + secret))
	password := func(host string) authn.Keychain { return login{host, "alice", secret} }
	refresh := func(string) authn.Keychain { return identity(secret) }
	for name, c := range map[string]struct {
		path        string // whose requests are redirected to the other server
		code        int
		credentials func(host string) authn.Keychain
	}{
		"a ping, 302":           {"/v2/", http.StatusFound, password},
		"a ping, 307":           {"/v2/", http.StatusTemporaryRedirect, refresh},
		"a login, 307":          {"/token", http.StatusTemporaryRedirect, refresh},
		"a login, 308":          {"/token", http.StatusPermanentRedirect, refresh},
		"a password login, 307": {"/token", http.StatusTemporaryRedirect, password},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *testRegistry
			var redirected atomic.Bool
			challenge := func(w http.ResponseWriter, address string) {
				w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="x"`, address))
				w.WriteHeader(http.StatusUnauthorized)
			}
			var address string
			other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				if sent := fmt.Sprint(req.Header, req.URL, string(body)); strings.Contains(sent, secret) ||
					strings.Contains(sent, basic) {
					t.Errorf("the other server receives %s", sent)
				}
				challenge(w, address)
			}))
			t.Cleanup(other.Close)
			address = strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
			s = serve(t, func(w http.ResponseWriter, req *http.Request) bool {
				if req.URL.Path == c.path {
					redirected.Store(true)
					http.Redirect(w, req, address+req.URL.Path, c.code)
				} else {
					challenge(w, s.server.URL)
				}
				return true
			})
			if _, err := NewWith(c.credentials(s.host)).Resolve(t.Context(), s.host+"/a:1"); err == nil {
				t.Error("there is no error")
			}
			if !redirected.Load() {
				t.Errorf("%s was not requested", c.path)
			}
		})
	}
}

// Only the library's fallback for private addresses sends requests without TLS to other machines.
func TestCredentialsAreNotSentWithoutTLSToOtherMachines(t *testing.T) {
	t.Parallel()
	for address, c := range map[string]struct{ credentials, sent bool }{
		"http://10.0.0.1:5000/v2/":     {true, false},
		"http://10.0.0.2:5000/v2/":     {false, true},
		"https://10.0.0.1/v2/":         {true, true},
		"http://127.0.0.1:5000/v2/":    {true, true},
		"http://[::1]:5000/v2/":        {true, true},
		"http://localhost:5000/v2/":    {true, true},
		"http://kind.localhost/v2/":    {true, true},
		"http://localhost.example/v2/": {true, false},
	} {
		sent := false
		next := tripper(func(*http.Request) (*http.Response, error) {
			sent = true
			return &http.Response{Body: http.NoBody}, nil
		})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := guard{next, c.credentials}.RoundTrip(request)
		if err == nil {
			_ = response.Body.Close()
		}
		if sent != c.sent || (err == nil) != c.sent {
			t.Errorf("%s: sent %t, error %v", address, sent, err)
		}
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
