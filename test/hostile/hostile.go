// Package hostile contains servers for tests of clients, which behave badly.
package hostile

import (
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"
)

// Credential is the credential of the clients in tests. No other server may receive it, and no message may contain it.
const Credential = "canary-4f9a2c71d6" //nolint:gosec // of no system

// Text is a text with which a server attacks terminals and CI systems, and which echoes the credential.
const Text = "no\x1b[2J\x1b]0;x\x07\u202e\n::add-mask::x\n##vso[task.complete]\nBearer " + Credential

// Server is a server with TLS that counts what it sends.
type Server struct {
	*httptest.Server

	Requests atomic.Int64
	Sent     atomic.Int64 // bytes of bodies, after compression
}

// enough is the number of bytes after which a server stops, so that a test of a client without a limit ends.
const enough = 256 << 20

// Serve starts a server that stops at the end of the test.
func Serve(t *testing.T, respond http.HandlerFunc) *Server {
	t.Helper()
	s := &Server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		s.Requests.Add(1)
		respond(&writer{w, &s.Sent}, request)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.close)
	return s
}

// close also closes the connections from which clients do not read.
func (s *Server) close() {
	s.CloseClientConnections()
	s.Server.Close()
}

// CA returns the certificate authority of the server as PEM.
func (s *Server) CA() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// writer counts what is written.
type writer struct {
	http.ResponseWriter

	sent *atomic.Int64
}

func (w *writer) Write(p []byte) (int, error) {
	if w.sent.Add(int64(len(p))) > enough {
		panic(http.ErrAbortHandler)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Responses returns bad responses to any request by their names.
func Responses() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"a body without an end":   Endless(http.StatusOK, `{"kind":"`, "a"),
		"nothing but spaces":      Endless(http.StatusOK, "", " "),
		"an error without an end": Endless(http.StatusForbidden, `{"kind":"Status","message":"`, "a"),
		"a gzip bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(w)
			repeat(zip, `{"kind":"`, "a", 128<<20)
		},
		"deep nesting": func(w http.ResponseWriter, _ *http.Request) { repeat(w, "", `{"metadata":`, 512<<10) },
		"an announced size of 2^62": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(int64(1)<<62))
			_, _ = io.WriteString(w, "{}")
		},
		"a reset in the middle": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"kind":`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"a large header": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Large", strings.Repeat("a", 11<<20))
		},
		"a message with commands": Message(http.StatusForbidden, Text),
		"a success that failed":   Message(http.StatusOK, Text),
		"no JSON":                 func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, Text) },
		"a header with commands": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Warning", `299 - "`+Credential+`"`)
			w.Header().Set("Location", "https://h.invalid/"+Credential+"/::add-mask::x")
			w.WriteHeader(http.StatusFound)
		},
	}
}

// Raw returns bad responses of HTTP/1.1, which no handler can write, by their names.
func Raw() map[string]string {
	return map[string]string{
		"a chunk of 2^62": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"4000000000000000\r\n{}",
		"a reason with commands": "HTTP/1.1 400 ::add-mask:: \x1b[2J " + Credential + "\r\nContent-Length: 0\r\n\r\n",
		"a web page":             "HTTP/1.1 200 ::add-mask:: " + Credential + "\r\nContent-Type: text/html\r\n\r\n",
		"no HTTP":                "::add-mask::x\x1b[2J\r\n\r\n",
	}
}

// ServeRaw starts a server with HTTP/1.1 that sends the same bytes for each request.
func ServeRaw(t *testing.T, response string) *Server {
	t.Helper()
	s := &Server{}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.Requests.Add(1)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		n, _ := io.WriteString(conn, response)
		s.Sent.Add(int64(n))
		_ = conn.Close()
	}))
	t.Cleanup(s.close)
	return s
}

// Endless returns a response of a start and a unit that is repeated without an end.
func Endless(code int, start, unit string) http.HandlerFunc {
	return Repeated(code, start, unit, 1<<40, "")
}

// Repeated returns a response of a start, a unit that is repeated up to a size, and an end.
func Repeated(code int, start, unit string, size int, end string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		repeat(w, start, unit, size)
		_, _ = io.WriteString(w, end)
	}
}

func repeat(w io.Writer, start, unit string, size int) {
	_, err := io.WriteString(w, start)
	block := []byte(strings.Repeat(unit, (64<<10)/len(unit)))
	for sent := 0; sent < size && err == nil; sent += len(block) {
		_, err = w.Write(block)
	}
}

// Message returns the Status of a failure with a message.
func Message(code int, text string) http.HandlerFunc {
	return Status(code, "Forbidden", fmt.Sprintf(`,"message":%s,"details":{"causes":[{"field":"spec",`+
		`"message":%[1]s}]}`, quoted(text)))
}

// Status returns the Status of a failure with a reason and more fields.
func Status(code int, reason, fields string) http.HandlerFunc {
	return JSON(code, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q%s}`,
		code, reason, fields))
}

// JSON returns a response with a body.
func JSON(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		if unicode.IsControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// Check fails the test if a text, which is shown to users, contains the credential, commands for a terminal, or a
// command for a CI system at the start of a line.
func Check(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, Credential) || strings.ContainsAny(text, "\x1b\x07\u202e") {
		t.Errorf("the text is %.500q", text)
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "::") || strings.HasPrefix(line, "##vso[") {
			t.Errorf("the text has the line %.500q", line)
		}
	}
}
