package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/transport"
	"github.com/ktdev/terraform-provider-kt/test/hostile"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func clusterOf(t *testing.T, server *hostile.Server) *kube.Cluster {
	t.Helper()
	return kube.NewCluster(t.Context(), config.Config{
		Host: server.URL, Token: hostile.Credential, ClusterCACertificate: server.CA(), Namespace: "ml",
	}).WithClock(&kubetest.Clock{}).WithLimits(limits())
}

// limits returns limits of a 32nd of the provider's, so that the tests exceed them quickly.
func limits() transport.Limits {
	limits := transport.DefaultLimits()
	return transport.Limits{Page: limits.Page / 32, List: limits.List / 32, Message: limits.Message / 32}
}

func trainer() kube.Ref { return kube.Ref{Kind: kind.Deployment(), Namespace: "ml", Name: "trainer"} }

func pods() kube.Ref { return kube.Ref{Kind: kind.Pod(), Namespace: "ml"} }

func secret() *unstructured.Unstructured { return kind.Secret().Named("ml", "token") }

// servers returns all bad servers by their names.
func servers() map[string]func(*testing.T) *hostile.Server {
	out := map[string]func(*testing.T) *hostile.Server{}
	for name, respond := range hostile.Responses() {
		out[name] = func(t *testing.T) *hostile.Server { t.Helper(); return hostile.Serve(t, respond) }
	}
	for name, response := range hostile.Raw() {
		out[name] = func(t *testing.T) *hostile.Server { t.Helper(); return hostile.ServeRaw(t, response) }
	}
	return out
}

// shown fails the test if the text of an error can attack a terminal or contains the credential.
func shown(t *testing.T, err error) {
	t.Helper()
	hostile.Check(t, err.Error())
	failure, ok := errors.AsType[*kube.Error](err)
	if !ok {
		t.Fatalf("the error is %v", err)
	}
	summary, cause := failure.Explain()
	hostile.Check(t, summary+"\n"+cause.Summary)
}

// allocated returns the bytes that a call allocates. Tests with it are not parallel.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The limit of an object is 1 MiB. Buffers of the connection and of the server are added, and a header of 11 MiB.
func TestBadResponseToARequestForAnObject(t *testing.T) { //nolint:paralleltest // it measures memory
	const received, memory = 16 << 20, 400 << 20
	for name, serve := range servers() {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // it measures memory
			server := serve(t)
			cluster := clusterOf(t, server)
			var err error
			used := allocated(func() { _, err = cluster.API.Get(t.Context(), trainer()) })
			if err == nil || kube.IsNotFound(err) {
				t.Fatalf("the error is %v", err)
			}
			shown(t, err)
			if sent := server.Sent.Load() / server.Requests.Load(); sent > received {
				t.Errorf("%d MiB were received", sent>>20)
			}
			if used/uint64(server.Requests.Load()) > memory {
				t.Errorf("%d MiB were allocated", used>>20)
			}
		})
	}
}

func TestSlowResponseEndsWithTheRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cluster := clusterOf(t, hostile.Serve(t, func(w http.ResponseWriter, request *http.Request) {
		_, _ = w.Write([]byte("{"))
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-request.Context().Done()
	}))
	if _, err := cluster.API.Get(ctx, trainer()); kube.ClassOf(err) != kube.Canceled {
		t.Errorf("the error is %v", err)
	}
}

func TestOnlyListsCanBeLarge(t *testing.T) { //nolint:paralleltest // it measures memory
	list := func(ctx context.Context, c *kube.Cluster) error {
		_, err := kube.PodsNow(ctx, c.API, "ml", nil)
		return err
	}
	const pod = `{"kind":"PodList","apiVersion":"v1","items":[`
	for name, test := range map[string]struct {
		call             func(context.Context, *kube.Cluster) error
		respond          http.HandlerFunc
		received, memory int64 // MiB
	}{
		"a list":                {list, hostile.Endless(http.StatusOK, pod+`"`, "a"), 24, 256},
		"a list of small items": {list, hostile.Repeated(http.StatusOK, pod+"{}", ",{}", 4<<20, "]}"), 5, 128},
		"the error of a list":   {list, hostile.Endless(http.StatusForbidden, `{"kind":"`, "a"), 16, 64},
		"discovery": {func(ctx context.Context, c *kube.Cluster) error {
			_, err := c.Discovery.Installed(ctx, kube.Kind{GroupVersionKind: kind.KAIQueue().GroupVersionKind})
			return err
		}, hostile.Endless(http.StatusOK, `{"kind":"`, "a"), 16, 64},
	} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // it measures memory
			server := hostile.Serve(t, test.respond)
			cluster := clusterOf(t, server)
			var err error
			used := allocated(func() { err = test.call(t.Context(), cluster) })
			if kube.ClassOf(err) != kube.Unreachable || !strings.Contains(err.Error(), "larger than") {
				t.Errorf("the error is %v", err)
			}
			if sent := server.Sent.Load() >> 20; sent > test.received || server.Requests.Load() != 1 {
				t.Errorf("%d MiB were received in %d requests", sent, server.Requests.Load())
			}
			if used>>20 > uint64(test.memory) {
				t.Errorf("%d MiB were allocated", used>>20)
			}
		})
	}
}

func TestListsEnd(t *testing.T) {
	t.Parallel()
	type call func(context.Context, *kube.Cluster) error
	calls := map[string]call{
		"PodsNow": func(ctx context.Context, c *kube.Cluster) error {
			_, err := kube.PodsNow(ctx, c.API, "ml", nil)
			return err
		},
		"Objects": func(ctx context.Context, c *kube.Cluster) error {
			for _, err := range c.API.List(ctx, pods(), "") {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Listing": func(ctx context.Context, c *kube.Cluster) error {
			_, err := c.API.Listing("ml").Get(ctx, trainer())
			return err
		},
		"ReadAll": func(ctx context.Context, c *kube.Cluster) error {
			_, err := c.Store.List(ctx, kind.Pod(), "ml", nil)
			return err
		},
		"metadata of Secrets": func(ctx context.Context, c *kube.Cluster) error {
			_, err := c.Store.SecretMetadata(ctx, kube.SecretRef("ml", "token"))
			return err
		},
	}
	number := func(page int64) string { return fmt.Sprint("t", page) }
	for name, call := range calls {
		for behavior, test := range map[string]struct {
			token   func(page int64) string
			expired bool
		}{
			"the same token":           {func(int64) string { return "a" }, false},
			"two tokens":               {func(page int64) string { return fmt.Sprint("t", page%2) }, false},
			"always another":           {number, false},
			"each token has an expiry": {number, true},
		} {
			t.Run(name+" "+behavior, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var pages atomic.Int64
				cluster := clusterOf(t, hostile.Serve(t, func(w http.ResponseWriter, request *http.Request) {
					page, query := pages.Add(1), request.URL.Query()
					if page > 5000 {
						t.Errorf("%d pages were requested", page)
						cancel()
					}
					token := fmt.Sprintf(`"metadata":{"continue":%q}`, test.token(page))
					respond := hostile.JSON(http.StatusOK, fmt.Sprintf(`{%s,%s,"items":[]}`, listOf(request), token))
					switch {
					case query.Get("watch") == "true": // the Reflector then lists
						respond = hostile.Status(http.StatusUnprocessableEntity, "Invalid", "")
					case test.expired && query.Get("continue") != "":
						respond = hostile.Status(http.StatusGone, "Expired", ","+token)
					}
					respond(w, request)
				}))
				if err := call(ctx, cluster); err == nil || ctx.Err() != nil {
					t.Errorf("the error is %v", err)
				}
			})
		}
	}
}

// listOf returns the fields that identify the list in the response to a request.
func listOf(request *http.Request) string {
	switch path := request.URL.Path; {
	case strings.HasSuffix(path, "/deployments"):
		return `"kind":"DeploymentList","apiVersion":"apps/v1"`
	case strings.HasSuffix(path, "/secrets"):
		return `"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1"`
	default:
		return `"kind":"PodList","apiVersion":"v1"`
	}
}

func TestAnotherObjectIsNoSuccess(t *testing.T) {
	t.Parallel()
	calls := map[string]func(context.Context, *kube.Cluster) error{
		"Get": func(ctx context.Context, c *kube.Cluster) error { _, err := c.API.Get(ctx, trainer()); return err },
		"Exists": func(ctx context.Context, c *kube.Cluster) error {
			_, err := c.API.Exists(ctx, trainer())
			return err
		},
		"Delete": func(ctx context.Context, c *kube.Cluster) error { return c.Delete(ctx, trainer(), "u") },
		"Apply": func(ctx context.Context, c *kube.Cluster) error {
			_, err := c.Apply(ctx, kubetest.Deployment("", 0))
			return err
		},
		"DryRun": func(ctx context.Context, c *kube.Cluster) error {
			_, err := c.DryRun(ctx, kubetest.Deployment("", 0))
			return err
		},
		"Get of a Secret": func(ctx context.Context, c *kube.Cluster) error {
			_, err := c.API.Get(ctx, kube.SecretRef("ml", "token"))
			return err
		},
		"Apply of a Secret": func(ctx context.Context, c *kube.Cluster) error {
			_, err := c.Apply(ctx, secret())
			return err
		},
		"SecretMetadata": func(ctx context.Context, c *kube.Cluster) error {
			_, err := c.API.SecretMetadata(ctx, kube.SecretRef("ml", "token"))
			return err
		},
		"PodsNow": func(ctx context.Context, c *kube.Cluster) error {
			_, err := kube.PodsNow(ctx, c.API, "ml", nil)
			return err
		},
		"Objects": func(ctx context.Context, c *kube.Cluster) error {
			for _, err := range c.API.List(ctx, pods(), "") {
				return err
			}
			return nil
		},
		"Installed": func(ctx context.Context, c *kube.Cluster) error {
			_, err := c.Discovery.Installed(ctx, kube.Kind{GroupVersionKind: kind.KAIQueue().GroupVersionKind})
			return err
		},
	}
	const object = `{"kind":%q,"apiVersion":%q,"metadata":{"name":%q,"namespace":%q}}`
	for name, response := range map[string]http.HandlerFunc{
		"a failure":         hostile.Message(http.StatusOK, "no"),
		"a created failure": hostile.Message(http.StatusCreated, "no"),
		"{}":                hostile.JSON(http.StatusOK, "{}"),
		"null":              hostile.JSON(http.StatusOK, "null"),
		"nothing":           hostile.JSON(http.StatusNoContent, ""),
		"protobuf": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
			_, _ = w.Write([]byte("k8s\x00\n\x00"))
		},
		"CBOR": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/cbor")
			_, _ = w.Write([]byte("\xd9\xd9\xf7\xa0"))
		},
	} {
		for call, send := range calls {
			t.Run(call+" "+name, func(t *testing.T) {
				t.Parallel()
				if err := send(t.Context(), clusterOf(t, hostile.Serve(t, response))); err == nil {
					t.Error("no error")
				} else {
					hostile.Check(t, err.Error())
				}
			})
		}
	}
	for name, body := range map[string]string{
		"another name":        fmt.Sprintf(object, "Deployment", "apps/v1", "other", "ml"),
		"another namespace":   fmt.Sprintf(object, "Deployment", "apps/v1", "trainer", "other"),
		"another kind":        fmt.Sprintf(object, "ReplicaSet", "apps/v1", "trainer", "ml"),
		"another API version": fmt.Sprintf(object, "Deployment", "apps/v2", "trainer", "ml"),
		"metadata":            fmt.Sprintf(object, "PartialObjectMetadata", "meta.k8s.io/v1", "trainer", "ml"),
		"a list":              `{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{},"items":[]}`,
	} {
		for _, call := range []string{"Get", "Apply", "DryRun"} {
			t.Run(call+" "+name, func(t *testing.T) {
				t.Parallel()
				err := calls[call](t.Context(), clusterOf(t, hostile.Serve(t, hostile.JSON(http.StatusOK, body))))
				if kube.ClassOf(err) != kube.Unreachable || kube.OutcomeUnknown(err) != (call == "Apply") {
					t.Errorf("the error is %v, the outcome is unknown: %t", err, kube.OutcomeUnknown(err))
				}
			})
		}
	}
}
