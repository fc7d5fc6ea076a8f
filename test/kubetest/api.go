// Package kubetest imitates API servers and clocks for tests.
package kubetest

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
)

// API is an API server that responds with JSON. It is ready.
type API struct {
	Answer func(verb, path string, request *http.Request) (code int, body any)
}

func (f API) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	verb := map[string]string{
		http.MethodGet: "get", http.MethodPatch: "patch", http.MethodPost: "create", http.MethodDelete: "delete",
	}[request.Method]
	path := request.URL.Path
	if path == "/readyz" {
		return
	}
	last := path[strings.LastIndex(path, "/")+1:]
	switch {
	case request.URL.Query().Get("watch") == "true":
		verb = "watch"
	case verb == "get" && strings.HasSuffix(last, "s"): // no object of the tests has such a name
		verb = "list"
	}
	code, body := f.Answer(verb, path, request)
	if path == "/apis/" && code == http.StatusNotFound { // every API server serves it
		list := metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}
		code, body = http.StatusOK, metav1.APIGroupList{TypeMeta: list, Groups: []metav1.APIGroup{}}
	}
	if status, ok := body.(metav1.Status); ok {
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		status.Status, status.Code = metav1.StatusFailure, int32(code)
		if code < http.StatusMultipleChoices {
			status.Status = metav1.StatusSuccess
		}
		body = status
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(Identified(path, data))
}

// Identified returns the body of a response with the fields by which every API server identifies a list, a discovery
// document or an object. It does not change those that an object has.
func Identified(path string, body []byte) []byte {
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&fields) != nil {
		return body
	}
	steps := strings.Split(strings.Trim(path, "/"), "/")
	version := strings.Join(steps[1:min(len(steps), 3)], "/")
	if steps[0] == "api" {
		version = "v1"
	}
	if isCollection(path) && fields["items"] != nil {
		fields["apiVersion"], fields["kind"] = version, listKind(version, steps[len(steps)-1])
	} else if fields["resources"] != nil {
		fields["kind"], fields["groupVersion"] = "APIResourceList", version
	} else if _, isGroup := fields["versions"]; isGroup {
		fields["kind"], fields["name"] = "APIGroup", version
	} else if len(steps) > 3 && !isCollection(path) && fields["kind"] != "Status" {
		identify(fields, version, steps)
	} else {
		return body
	}
	body, _ = json.Marshal(fields) // it was decoded from JSON
	return body
}

func identify(object map[string]any, version string, steps []string) {
	last := len(steps) - 1
	meta, _ := object["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		object["metadata"] = meta
	}
	namespace := ""
	if at := slices.Index(steps, "namespaces"); at >= 0 && at < last-1 {
		namespace = steps[at+1]
	}
	for _, field := range []struct {
		of          map[string]any
		name, value string
	}{
		{object, "apiVersion", version}, {object, "kind", strings.TrimSuffix(listKind(version, steps[last-1]), "List")},
		{meta, "name", steps[last]}, {meta, "namespace", namespace},
	} {
		if value := field.of[field.name]; value == nil || value == "" {
			field.of[field.name] = field.value
		}
	}
}

// listKind returns the kind of the list of a resource. Those of custom kinds can have any kind.
func listKind(version, resource string) string {
	gv, _ := schema.ParseGroupVersion(version)
	for kind := range scheme.Scheme.KnownTypes(gv) {
		if plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(kind)); plural.Resource == resource {
			return kind + "List"
		}
	}
	return "CustomList"
}

// Failing returns the response of a failure with a reason.
func Failing(code int, reason metav1.StatusReason) (int, any) {
	return code, metav1.Status{Reason: reason, Message: string(reason)}
}

// GetsOnly returns the response to a user without permission to list or watch.
// ok is false for an allowed request.
func GetsOnly(verb, path string, request *http.Request) (code int, body any, ok bool) {
	if strings.HasSuffix(path, "/selfsubjectaccessreviews") {
		code, body = Reviewed(request, func(verb string) bool { return verb != "list" && verb != "watch" })
		return code, body, true
	}
	if verb == "list" || verb == "watch" {
		code, body = Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		return code, body, true
	}
	return 0, nil, false
}

// Reviewed returns the response to a SelfSubjectAccessReview.
func Reviewed(request *http.Request, may func(verb string) bool) (code int, body any) {
	var review map[string]any
	_ = json.NewDecoder(request.Body).Decode(&review)
	verb, _, _ := unstructured.NestedString(review, "spec", "resourceAttributes", "verb")
	review["status"] = map[string]any{"allowed": may(verb)}
	return http.StatusCreated, review
}

// Clock is a clock for tests: After returns immediately, and timers need a
// hundredth of their duration, while the time advances by all of it. Time limits
// of requests are real.
type Clock struct {
	clock.RealClock

	skipped atomic.Int64 // nanoseconds
}

// Skipped returns the time by which the clock is ahead.
func (c *Clock) Skipped() time.Duration { return time.Duration(c.skipped.Load()) }

// Skip advances the time.
func (c *Clock) Skip(d time.Duration) { c.skipped.Add(int64(d)) }

// Now returns the advanced time.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.skipped.Load())) }

// Since returns the time since t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// After skips the duration.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	c.skipped.Add(int64(d))
	woken := make(chan time.Time, 1)
	woken <- c.Now()
	return woken
}

// Paths of the objects that tests use.
const (
	TrainerPath = "/apis/apps/v1/namespaces/ml/deployments/trainer"
	ClaimPath   = "/api/v1/namespaces/ml/persistentvolumeclaims/weights"
)

// Deployment returns a Deployment of one replica, with the number of ready ones.
func Deployment(version string, ready int64) *unstructured.Unstructured {
	available := map[int64]string{0: "False", 1: "True"}[ready]
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"namespace": "ml", "name": "trainer", "uid": "u", "generation": int64(1), "resourceVersion": version,
		},
		"spec": map[string]any{"replicas": int64(1), "template": map[string]any{"spec": map[string]any{}}},
		"status": map[string]any{
			"observedGeneration": int64(1), "replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": ready,
			"availableReplicas": ready,
			"conditions": []any{
				map[string]any{"type": "Available", "status": available},
				map[string]any{
					"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable",
					"message": `ReplicaSet "trainer-1" has successfully progressed.`,
				},
			},
		},
	}}
}

// NewTimer returns a timer that needs a hundredth of its duration.
func (c *Clock) NewTimer(d time.Duration) clock.Timer {
	fired := make(chan time.Time, 1)
	return &clockTimer{fired: fired, Timer: time.AfterFunc(d/100, func() {
		c.skipped.Add(int64(d))
		fired <- c.Now()
	})}
}

type clockTimer struct {
	*time.Timer

	fired chan time.Time
}

func (t *clockTimer) C() <-chan time.Time { return t.fired }

// RunningPod returns a pod that runs and is not ready.
func RunningPod(name string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// UnusedAddress returns an address at which nothing listens until the test ends:
// the local address of an open connection, so that no other socket gets it.
func UnusedAddress(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = accepted.Close() })
	return conn.LocalAddr().String()
}
