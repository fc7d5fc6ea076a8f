package kube

import (
	"net/http"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAClusterIsAskedOnceForItsIdentity(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code int
		body any
		want string
	}{
		"it may be read":     {http.StatusOK, map[string]any{"kind": "Namespace", "metadata": map[string]any{"uid": "u-1"}}, "u-1"},
		"it may not be read": {http.StatusForbidden, metav1.Status{Reason: metav1.StatusReasonForbidden}, ""},
		"another server":     {http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			cluster := clusterOf(t, fakeAPI{func(_, path string, _ *http.Request) (int, any) {
				asked.Add(1)
				if path != "/api/v1/namespaces/kube-system" {
					t.Errorf("asked for %s", path)
				}
				return c.code, c.body
			}})
			for range 3 {
				identity := cluster.Identity(t.Context())
				if string(identity.UID) != c.want || (c.want != "") != (identity.Server != "") {
					t.Errorf("the identity is %+v, want the UID %q", identity, c.want)
				}
			}
			if got := asked.Load(); got != 1 {
				t.Errorf("asked %d times", got)
			}
		})
	}
}

func TestAKindIsRemovedOnlyIfNoVersionServesIt(t *testing.T) {
	t.Parallel()
	cluster := clusterOf(t, fakeAPI{func(_, path string, _ *http.Request) (int, any) {
		versions := func(group string, all ...string) metav1.APIGroup {
			out := metav1.APIGroup{Name: group}
			for _, version := range all {
				out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{GroupVersion: group + "/" + version, Version: version})
			}
			return out
		}
		switch path {
		case "/apis/example.com":
			return http.StatusOK, versions("example.com", "v1", "v2")
		case "/apis/example.com/v1":
			return http.StatusOK, metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "runs", Kind: "Run"}}}
		case "/apis/example.com/v2":
			return http.StatusOK, metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "fleets", Kind: "Fleet"}}}
		case "/apis/half.example.com":
			return http.StatusOK, versions("half.example.com", "v1")
		case "/apis/half.example.com/v1", "/apis/down.example.com":
			return failing(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
		}
		return failing(http.StatusNotFound, metav1.StatusReasonNotFound)
	}})
	for kind, want := range map[schema.GroupVersionKind]bool{
		{Group: "example.com", Version: "v1", Kind: "Run"}:       false,
		{Group: "example.com", Version: "v1", Kind: "Fleet"}:     false, // at another version
		{Group: "example.com", Version: "v1", Kind: "Walk"}:      true,
		{Group: "other.example.com", Version: "v1", Kind: "Run"}: true,
		{Group: "half.example.com", Version: "v1", Kind: "Run"}:  false, // nobody knows
		{Group: "down.example.com", Version: "v1", Kind: "Run"}:  false,
	} {
		if got := cluster.KindRemoved(t.Context(), Kind{GroupVersionKind: kind}); got != want {
			t.Errorf("%s: removed %t, want %t", kind, got, want)
		}
	}
	if cluster.KindRemoved(t.Context(), Deployment()) {
		t.Error("a kind of Kubernetes itself is said to be removed")
	}
}
