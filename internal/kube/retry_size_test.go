package kube

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"testing"
)

// endless returns the same byte again and again.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// Nothing is allocated by a number of the server, and no response takes all memory.
func TestSizeOfResponsesIsLimited(t *testing.T) { //nolint:paralleltest // it measures memory
	const memory = 4 << 30 // of all allocations while a response of 512 MiB grows
	for name, respond := range map[string]http.HandlerFunc{
		"an announced size of 2^62": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(int64(1)<<62))
			_, _ = io.CopyN(w, endless{}, 1000)
		},
		"no end": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, endless{})
		},
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(w)
			_, _ = io.CopyN(zip, endless{}, 8<<30)
			_ = zip.Close()
		},
	} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // it measures memory
			cluster := clusterOf(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				respond(w, request)
			}))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := cluster.Fetch(t.Context(), trainer())
			runtime.ReadMemStats(&after)
			if ClassOf(err) != Unreachable {
				t.Errorf("the error is %v", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > memory {
				t.Errorf("%d MiB were allocated", used>>20)
			}
		})
	}
}

func TestSizeOfMessagesOfAWatchIsLimited(t *testing.T) {
	t.Parallel()
	line := append(bytes.Repeat([]byte{'a'}, maxMessage-1), '\n')
	for name, test := range map[string]struct {
		body   io.Reader
		watch  bool
		failed bool
	}{
		"messages of the maximum size": {io.LimitReader(io.MultiReader(bytes.NewReader(line), bytes.NewReader(line)),
			1<<40), true, false},
		"a message without an end":       {endless{}, true, true},
		"a line of a log without an end": {io.LimitReader(endless{}, 3*maxMessage), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := &streamBody{ReadCloser: io.NopCloser(test.body), watch: test.watch, stop: func(error) {},
				ended: func() {}}
			_, err := io.Copy(io.Discard, body)
			var large *tooLargeError
			if errors.As(err, &large) != test.failed {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
