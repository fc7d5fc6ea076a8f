package kube

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestClusterIdentityIsRequestedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code int
		body any
		want string
		asks int32
	}{
		"permission to read": {http.StatusOK, map[string]any{"kind": "Namespace", "apiVersion": "v1",
			"metadata": map[string]any{"uid": "u-1", "name": "kube-system"}}, "u-1", 1},
		"it may not be read": {http.StatusForbidden, metav1.Status{Reason: metav1.StatusReasonForbidden}, "",
			2}, // it is final if the server was ready before
		"a document without a UID": {http.StatusOK, map[string]any{"kind": "Namespace"}, "", 1},
		"another document":         {http.StatusOK, []string{"kube-system"}, "", 1}, // it counts as an outage
		"another server":           {http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, _ *http.Request) (int, any) {
				asked.Add(1)
				if path != "/api/v1/namespaces/kube-system" {
					t.Errorf("asked for %s", path)
				}
				return c.code, c.body
			}})
			for range 3 {
				identity := cluster.Identity(t.Context(), "")
				if string(identity.UID) != c.want || (identity.Server != "") != (name != "another document") {
					t.Errorf("the identity is %+v, want the UID %q", identity, c.want)
				}
			}
			if got := asked.Load(); got != c.asks {
				t.Errorf("asked %d times, want %d", got, c.asks)
			}
		})
	}
}

// An identity with both UIDs would not equal one that was recorded without the second one.
func TestNamespaceIdentifiesAClusterOnlyWithoutPermissionForItsUID(t *testing.T) {
	t.Parallel()
	namespace := func(name string) map[string]any {
		return map[string]any{"kind": "Namespace", "apiVersion": "v1",
			"metadata": map[string]any{"uid": "uid of " + name, "name": name}}
	}
	for name, c := range map[string]struct {
		readable  []string // namespaces
		namespace string
		want      Identity
	}{
		"both may be read": {[]string{"kube-system", "ml"}, "ml",
			Identity{UID: "uid of kube-system"}},
		"only the namespace of the resource": {[]string{"ml"}, "ml", Identity{Namespace: "uid of ml"}},
		"only another namespace":             {[]string{"web"}, "ml", Identity{}},
		"no namespace":                       {[]string{"ml"}, "", Identity{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, _ *http.Request) (int, any) {
				of := strings.TrimPrefix(path, "/api/v1/namespaces/")
				if asked = append(asked, of); slices.Contains(c.readable, of) {
					return http.StatusOK, namespace(of)
				}
				return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
			}})
			got := cluster.Identity(t.Context(), c.namespace)
			if got.Server == "" || got.UID != c.want.UID || got.Namespace != c.want.Namespace {
				t.Errorf("the identity is %+v, want %+v", got, c.want)
			}
			if read := slices.Contains(asked, "ml"); read != (c.want.UID == "" && c.namespace == "ml") {
				t.Errorf("asked for %v", asked)
			}
		})
	}
}

func TestKindIsRemovedOnlyIfNoVersionIsServed(t *testing.T) {
	t.Parallel()
	cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, _ *http.Request) (int, any) {
		versions := func(group string, all ...string) metav1.APIGroup {
			out := metav1.APIGroup{Name: group}
			for _, version := range all {
				out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{GroupVersion: group + "/" + version,
					Version: version})
			}
			return out
		}
		switch path {
		case "/apis/example.com":
			return http.StatusOK, versions("example.com", "v1", "v2")
		case "/apis/example.com/v1":
			return http.StatusOK, metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "runs",
				Kind: "Run"}}}
		case "/apis/example.com/v2":
			return http.StatusOK, metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "fleets",
				Kind: "Fleet"}}}
		case "/apis/half.example.com":
			return http.StatusOK, versions("half.example.com", "v1")
		case "/apis/half.example.com/v1", "/apis/down.example.com":
			return kubetest.Failing(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
		}
		return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
	}})
	for kind, want := range map[schema.GroupVersionKind]bool{
		{Group: "example.com", Version: "v1", Kind: "Run"}:       false,
		{Group: "example.com", Version: "v1", Kind: "Fleet"}:     false, // at another version
		{Group: "example.com", Version: "v1", Kind: "Walk"}:      true,
		{Group: "other.example.com", Version: "v1", Kind: "Run"}: true,
		{Group: "half.example.com", Version: "v1", Kind: "Run"}:  false, // nobody knows
		{Group: "down.example.com", Version: "v1", Kind: "Run"}:  false,
	} {
		if got := cluster.Discovery.KindRemoved(t.Context(), Kind{GroupVersionKind: kind}); got != want {
			t.Errorf("%s: removed %t, want %t", kind, got, want)
		}
	}
	if cluster.Discovery.KindRemoved(t.Context(), kind.Deployment()) {
		t.Error("a kind of Kubernetes is reported as removed")
	}
}

// The time limit of one resource must not decide about the objects of others in a run.
func TestInterruptedDiscoveryOfARemovedKindIsRepeated(t *testing.T) {
	t.Parallel()
	for _, slow := range []string{"/apis/example.com", "/apis/example.com/v1"} {
		ctx, interrupt := context.WithCancel(t.Context())
		cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, request *http.Request) (int, any) {
			switch {
			case path == slow && ctx.Err() == nil:
				interrupt()
				<-request.Context().Done()
			case path == "/apis/example.com":
				return http.StatusOK, metav1.APIGroup{Name: "example.com", Versions: []metav1.GroupVersionForDiscovery{
					{GroupVersion: "example.com/v1", Version: "v1"}}}
			case path == "/apis/example.com/v1":
				return http.StatusOK, metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "runs",
					Kind: "Run"}}}
			}
			return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
		}})
		cluster.Discovery.KeepMissing()
		walk := Kind{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Walk"}}
		for of, want := range []bool{false, true} {
			if got := cluster.Discovery.KindRemoved([]context.Context{ctx, t.Context()}[of], walk); got != want {
				t.Errorf("%s is slow: removed is %t after %d requests", slow, got, of+1)
			}
		}
	}
}

// helm_release can install a CRD again in the same apply.
func TestReinstalledKindIsNoLongerRemoved(t *testing.T) {
	t.Parallel()
	var installed atomic.Bool
	var requests atomic.Int32
	kind := row("ray.io", "RayCluster")
	cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, _ *http.Request) (int, any) {
		switch {
		case path == "/apis/"+kind.Group:
			requests.Add(1)
			if installed.Load() {
				return http.StatusOK, metav1.APIGroup{Name: kind.Group, Versions: []metav1.GroupVersionForDiscovery{
					{GroupVersion: kind.GroupVersion().String(), Version: kind.Version},
				}}
			}
		case path == "/apis/"+kind.GroupVersion().String() && installed.Load():
			return http.StatusOK, metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: kind.Resource,
				Kind: kind.Kind}}}
		}
		return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
	}})
	clock := clocktesting.NewFakeClock(cluster.API.clock.Now())
	cluster.API.clock = clock
	for range 1000 {
		if !cluster.Discovery.KindRemoved(t.Context(), kind) {
			t.Fatal("not reported as removed")
		}
	}
	if got := requests.Load(); got != 1 {
		t.Errorf("%d requests for a thousand objects, want 1", got)
	}
	installed.Store(true)
	clock.Step(missingTime)
	if cluster.Discovery.KindRemoved(t.Context(), kind) {
		t.Error("still reported as removed")
	}
}

func TestNotFoundIsConfirmedByTheListOfGroups(t *testing.T) {
	t.Parallel()
	list := func(groups ...metav1.APIGroup) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1",
				Kind: "APIGroupList"}, Groups: groups})
		}
	}
	group := func(name, version string) metav1.APIGroup {
		return metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: name + "/" +
			version, Version: version}}}
	}
	text := func(code int, contentType, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, test := range map[string]struct {
		groups           func(http.ResponseWriter)
		missing, removed bool // the version, and the kind at all versions
	}{
		"the group is not listed":   {list(group("apps", "v1")), true, true},
		"another version is listed": {list(group("ray.io", "v2")), true, false},
		"the version is listed":     {list(group("ray.io", "v1")), false, false},
		"a gateway responds to all paths with 404": {text(http.StatusNotFound, "text/plain", "404 page not found"),
			false, false},
		"a gateway responds with a web page": {text(http.StatusOK, "text/html", "<html>"), false, false},
		"it is another JSON document":        {text(http.StatusOK, "application/json", `{"groups":[]}`), false, false},
		"it is not available": {text(http.StatusServiceUnavailable, "text/plain", "no backend"), false,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := clusterOf(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				if request.URL.Path == "/apis/" {
					test.groups(w)
					return
				}
				http.Error(w, "404 page not found", http.StatusNotFound) // as of an API server and of a gateway
			}))
			installed, err := cluster.Discovery.Installed(t.Context(), row("ray.io", "RayCluster"))
			if installed || (err == nil) != test.missing || err != nil && ClassOf(err) != Unreachable {
				t.Errorf("installed %t, error %v", installed, err)
			}
			removed := cluster.Discovery.KindRemoved(t.Context(), row("ray.io", "RayCluster"))
			if removed != test.removed {
				t.Errorf("removed %t, want %t", removed, test.removed)
			}
		})
	}
}
