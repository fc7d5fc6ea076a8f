package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fault spoils one exchange; execute carries the request out.
type fault func(w http.ResponseWriter, execute func() *httptest.ResponseRecorder)

// status answers with a Status of the API server.
func status(code int, reason metav1.StatusReason) fault {
	return func(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Code: int32(code), Reason: reason, Message: string(reason), Details: &metav1.StatusDetails{Name: "trainer", Kind: "deployments"},
		})
	}
}

func gateway(code int) fault {
	return func(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
		http.Error(w, http.StatusText(code), code)
	}
}

func throttled(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
	w.Header().Set("Retry-After", "7")
	http.Error(w, "too many requests", http.StatusTooManyRequests)
}

// hangUp closes the connection, by a reset where asked for, before or after the
// request was carried out.
func hangUp(reset, after bool) fault {
	return func(w http.ResponseWriter, execute func() *httptest.ResponseRecorder) {
		if after {
			execute()
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		if tcp, ok := conn.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
}

// truncated cuts the answer; where it is honest about the length, the cut is seen
// in the text alone.
func truncated(honest bool) fault {
	return func(w http.ResponseWriter, execute func() *httptest.ResponseRecorder) {
		answer := execute().Body.Bytes()
		w.Header().Set("Content-Type", "application/json")
		if !honest {
			w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		}
		_, _ = w.Write(answer[:len(answer)/2])
	}
}

func passing() map[string]fault {
	return map[string]fault{
		"throttled":                throttled,
		"internal error":           status(500, metav1.StatusReasonInternalError),
		"etcd is slow":             status(500, metav1.StatusReasonUnknown),
		"starting":                 status(503, metav1.StatusReasonServiceUnavailable),
		"timeout":                  status(504, metav1.StatusReasonTimeout),
		"gateway 502":              gateway(502),
		"gateway 503":              gateway(503),
		"gateway 504":              gateway(504),
		"gateway 429":              gateway(429),
		"gateway 404":              gateway(404),
		"reset before":             hangUp(true, false),
		"reset after":              hangUp(true, true),
		"closed before":            hangUp(false, false),
		"closed after":             hangUp(false, true),
		"truncated":                truncated(false),
		"truncated as if whole":    truncated(true),
		"expired once":             status(401, metav1.StatusReasonUnauthorized),
		"another writer was first": status(409, metav1.StatusReasonConflict),
	}
}

// flaky is an API server with one Deployment, one Secret and one claim of
// everything that is asked for; strike says which fault a request meets.
type flaky struct {
	strike func(n int32, request *http.Request) fault

	requests, carriedOut atomic.Int32
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	request.Body = io.NopCloser(bytes.NewReader(body))
	execute := func() *httptest.ResponseRecorder {
		f.carriedOut.Add(1)
		answer := httptest.NewRecorder()
		fakeAPI{f.answer}.ServeHTTP(answer, request)
		return answer
	}
	if strike := f.strike(f.requests.Add(1), request); strike != nil {
		strike(w, execute)
		return
	}
	answer := execute()
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (f *flaky) answer(verb, path string, _ *http.Request) (int, any) {
	switch {
	case verb == "list":
		return http.StatusOK, map[string]any{"apiVersion": "apps/v1", "kind": "DeploymentList", "metadata": map[string]any{"resourceVersion": "3"}, "items": []any{deployment("2", 1).Object}}
	case strings.Contains(path, "/secrets/"):
		return http.StatusOK, aSecret().Object
	case strings.HasPrefix(path, "/apis/example.com/v1"):
		return http.StatusOK, metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "runs", Kind: "Run", Namespaced: true}}}
	case verb == "delete":
		return http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}
	default:
		return http.StatusOK, deployment("2", 1).Object
	}
}

func aSecret() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "ml", "name": "token", "uid": "u", "resourceVersion": "2"},
	}}
}

func clusterOn(t *testing.T, server http.Handler) *Cluster {
	t.Helper()
	at := httptest.NewServer(server)
	t.Cleanup(at.Close)
	return clusterAt(t, at.URL)
}

// verbs are all ways in which the provider asks a server for something.
func verbs() map[string]func(context.Context, *Cluster) error {
	secret := SecretRef("ml", "token")
	return map[string]func(context.Context, *Cluster) error{
		"get":     func(ctx context.Context, c *Cluster) error { _, err := c.Get(ctx, trainer()); return err },
		"list":    func(ctx context.Context, c *Cluster) error { _, err := c.list(ctx, trainer()); return err },
		"apply":   func(ctx context.Context, c *Cluster) error { _, err := c.Apply(ctx, deployment("", 0)); return err },
		"dry run": func(ctx context.Context, c *Cluster) error { _, err := c.DryRun(ctx, deployment("", 0)); return err },
		"delete":  func(ctx context.Context, c *Cluster) error { return c.Delete(ctx, trainer(), "u") },
		"patch": func(ctx context.Context, c *Cluster) error {
			return c.patchJSON(ctx, trainer(), []patchOp{{Op: "replace", Path: "/metadata/resourceVersion", Value: "2"}}, nil)
		},
		"get a Secret": func(ctx context.Context, c *Cluster) error { _, err := c.GetSecret(ctx, secret); return err },
		"apply a Secret": func(ctx context.Context, c *Cluster) error {
			_, err := c.ApplySecret(ctx, aSecret(), false)
			return err
		},
		"dry run of a Secret": func(ctx context.Context, c *Cluster) error {
			_, err := c.ApplySecret(ctx, aSecret(), true)
			return err
		},
		"remove keys of a Secret": func(ctx context.Context, c *Cluster) error {
			_, err := c.RemoveSecretKeys(ctx, aSecret(), []string{"a"})
			return err
		},
		"discover": func(ctx context.Context, c *Cluster) error {
			_, err := c.served(ctx, schema.GroupVersion{Group: "example.com", Version: "v1"}, "Run")
			return wrap("look up", Ref{}, err)
		},
		"read": func(ctx context.Context, c *Cluster) error { _, err := c.Read(ctx, trainer()); return err },
	}
}
