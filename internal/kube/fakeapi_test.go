package kube

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
)

// fakeAPI answers each request by answer, as JSON.
type fakeAPI struct {
	answer func(verb, path string, request *http.Request) (code int, body any)
}

func (f fakeAPI) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	verb := map[string]string{http.MethodGet: "get", http.MethodPatch: "patch", http.MethodPost: "create", http.MethodDelete: "delete"}[request.Method]
	path := request.URL.Path
	last := path[strings.LastIndex(path, "/")+1:]
	switch {
	case request.URL.Query().Get("watch") == "true":
		verb = "watch"
	case verb == "get" && strings.HasSuffix(last, "s"): // a collection; no object here is named so
		verb = "list"
	}
	code, body := f.answer(verb, path, request)
	if path == "/apis/" && code == http.StatusNotFound { // no API server says so
		code, body = http.StatusOK, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}, Groups: []metav1.APIGroup{}}
	}
	if status, ok := body.(metav1.Status); ok {
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		status.Status, status.Code = metav1.StatusFailure, int32(code)
		body = status
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func failing(code int, reason metav1.StatusReason) (int, any) {
	return code, metav1.Status{Reason: reason, Message: string(reason)}
}

// getsOnly is the answer to somebody who may get and write, not list or watch.
// ok is false for a request that is allowed.
func getsOnly(verb, path string, request *http.Request) (code int, body any, ok bool) {
	if strings.HasSuffix(path, "/selfsubjectaccessreviews") {
		code, body = reviewed(request, func(verb string) bool { return verb != "list" && verb != "watch" })
		return code, body, true
	}
	if verb == "list" || verb == "watch" {
		code, body = failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		return code, body, true
	}
	return 0, nil, false
}

// reviewed answers a SelfSubjectAccessReview.
func reviewed(request *http.Request, may func(verb string) bool) (code int, body any) {
	var review map[string]any
	_ = json.NewDecoder(request.Body).Decode(&review)
	verb, _, _ := unstructured.NestedString(review, "spec", "resourceAttributes", "verb")
	review["status"] = map[string]any{"allowed": may(verb)}
	return http.StatusCreated, review
}

func clusterOf(t *testing.T, api fakeAPI) *Cluster {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return clusterAt(t, server.URL)
}

// clusterAt is the cluster at an address. No test waits for the time that passes
// between repetitions of a request.
func clusterAt(t *testing.T, host string) *Cluster {
	t.Helper()
	cluster := NewCluster(t.Context(), config.Config{Host: host, Token: "x", Env: config.Env{Getenv: func(string) string { return "" }}})
	cluster.clock = &rushed{}
	return cluster
}

// rushed is a clock on which whoever sleeps wakes up at once, and whoever waits for
// something else too waits a hundredth of the time; it is as late as it would have
// been. Time limits of requests are real.
type rushed struct {
	clock.RealClock

	skipped atomic.Int64 // nanoseconds
}

func (c *rushed) Now() time.Time { return time.Now().Add(time.Duration(c.skipped.Load())) }

func (c *rushed) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *rushed) After(d time.Duration) <-chan time.Time {
	c.skipped.Add(int64(d))
	woken := make(chan time.Time, 1)
	woken <- c.Now()
	return woken
}

const (
	trainerPath = "/apis/apps/v1/namespaces/ml/deployments/trainer"
	claimPath   = "/api/v1/namespaces/ml/persistentvolumeclaims/weights"
)

func trainer() Ref { return Ref{Kind: kind.Deployment(), Namespace: "ml", Name: "trainer"} }

// deployment is one of one replica, of which ready are ready.
func deployment(version string, ready int64) *unstructured.Unstructured {
	available := map[int64]string{0: "False", 1: "True"}[ready]
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": "ml", "name": "trainer", "uid": "u", "generation": int64(1), "resourceVersion": version},
		"spec":     map[string]any{"replicas": int64(1), "template": map[string]any{"spec": map[string]any{}}},
		"status": map[string]any{
			"observedGeneration": int64(1), "replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": ready, "availableReplicas": ready,
			"conditions": []any{
				map[string]any{"type": "Available", "status": available},
				map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": `ReplicaSet "trainer-1" has successfully progressed.`},
			},
		},
	}}
}

func (c *rushed) NewTimer(d time.Duration) clock.Timer {
	fired := make(chan time.Time, 1)
	return &rushedTimer{fired: fired, Timer: time.AfterFunc(d/100, func() {
		c.skipped.Add(int64(d))
		fired <- c.Now()
	})}
}

type rushedTimer struct {
	*time.Timer

	fired chan time.Time
}

func (t *rushedTimer) C() <-chan time.Time { return t.fired }
