package hostile_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/klog/v2"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/podstream"
	"github.com/ktdev/terraform-provider-kt/test/hostile"
)

// lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Terraform logs what the provider writes to its standard error.
func TestABadWatchIsNotLogged(t *testing.T) { //nolint:paralleltest // klog is global
	var logged lockedBuffer
	klog.LogToStderr(false)
	klog.SetOutput(&logged)
	defer func() { klog.SetOutput(io.Discard); klog.LogToStderr(true) }()
	klog.Error("the control")
	if klog.Flush(); !strings.Contains(logged.String(), "the control") {
		t.Fatalf("the log is not recorded: %q", logged.String())
	}
	failure := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":%q}`,
		"Bearer "+hostile.Credential)
	for name, events := range map[string]string{
		"an error":            `{"type":"ERROR","object":` + failure + `}`,
		"an unknown event":    `{"type":"` + hostile.Credential + `","object":{}}`,
		"no JSON":             hostile.Credential,
		"another object":      `{"type":"ADDED","object":` + failure + `}`,
		"an event of no kind": `{"type":"ADDED","object":{"metadata":{"name":"` + hostile.Credential + `"}}}`,
	} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // klog is global
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var watches int
			var mu sync.Mutex
			again := make(chan struct{})
			cluster := clusterOf(t, hostile.Serve(t, func(w http.ResponseWriter, request *http.Request) {
				switch query := request.URL.Query(); {
				case query.Get("sendInitialEvents") == "true":
					hostile.Status(http.StatusUnprocessableEntity, "Invalid", "")(w, request)
				case query.Get("watch") == "true":
					mu.Lock()
					defer mu.Unlock()
					if watches++; watches == 2 {
						close(again)
					}
					hostile.JSON(http.StatusOK, events+"\n")(w, request)
				default:
					hostile.JSON(http.StatusOK, `{"kind":"PodList","apiVersion":"v1","items":[],`+
						`"metadata":{"resourceVersion":"1"}}`)(w, request)
				}
			}))
			if _, err := cluster.Store.List(ctx, kind.Pod(), "ml", nil); err != nil {
				t.Fatal(err)
			}
			select {
			case <-again:
			case <-ctx.Done():
			}
			klog.Flush()
			if text := logged.String(); strings.Contains(text, hostile.Credential) {
				t.Errorf("logged: %s", text)
			}
		})
	}
}

func TestCredentialInALogIsHidden(t *testing.T) {
	t.Parallel()
	cluster := clusterOf(t, hostile.Serve(t, func(w http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/log") {
			_, _ = io.WriteString(w, "2026-01-02T03:04:05Z "+strings.ReplaceAll(hostile.Text, "\n", " ")+"\n")
			return
		}
		hostile.JSON(http.StatusOK, `{"kind":"Pod","apiVersion":"v1",`+
			`"metadata":{"name":"trainer-0","namespace":"ml"}}`)(w, request)
	}))
	var lines []string
	log := podstream.Log{Namespace: "ml", Pod: "trainer-0", Container: "kubetorch",
		Mask: func(text string) string { return text }}
	if err := log.Read(t.Context(), cluster, func(line string) { lines = append(lines, line) }); err != nil {
		t.Fatal(err)
	}
	last, err := cluster.API.Logs(t.Context(), "ml", "trainer-0", "kubetorch", false, 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range append(lines, last...) {
		if strings.Contains(line, hostile.Credential) || !strings.Contains(line, "(hidden)") {
			t.Errorf("the line is %q", line)
		}
	}
	if len(lines) != 1 || len(last) != 1 {
		t.Errorf("%d and %d lines", len(lines), len(last))
	}
	if got := cluster.API.Hide("Bearer " + hostile.Credential); got != "Bearer (hidden)" {
		t.Errorf("got %q", got)
	}
}
