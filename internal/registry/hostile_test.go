package registry

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
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

// The library limits manifests to 100 MiB, and other responses to less.
func TestAHostileRegistryEndsInAnError(t *testing.T) {
	t.Parallel()
	const limit = 200 << 20 // with the buffers of the connection
	spaces := func(w io.Writer) {
		for line := []byte(strings.Repeat(" ", 1<<20)); ; {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}
	for name, respond := range map[string]func(w http.ResponseWriter, body io.Writer){
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
		"commands": func(w http.ResponseWriter, body io.Writer) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(body, `{"errors":[{"code":"\u001b[2J","message":"\n::add-mask::x\u202e"}]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var written atomic.Int64
			s := serve(t, func(w http.ResponseWriter, req *http.Request) bool {
				if !strings.Contains(req.URL.Path, "/manifests/") {
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
			if err == nil || strings.ContainsAny(err.Error(), "\x1b\u202e") || strings.Contains(err.Error(), "canary") {
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
