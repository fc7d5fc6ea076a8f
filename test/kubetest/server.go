package kubetest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// ClusterUID is the UID of the namespace kube-system of a [Server].
const ClusterUID = "cluster"

// Server is an API server with objects, which records who owns which field as Kubernetes does. It neither
// validates objects nor sets defaults. It refuses lists and watches, so that every read is a request.
type Server struct {
	*httptest.Server

	// Intercept returns a replacement for the response to a request; nil for none. The verbs are those of Requests.
	Intercept func(verb, path string) Fault

	mu       sync.Mutex
	objects  map[string]*unstructured.Unstructured // by path
	requests []string
	version  int
}

// NewServer starts a server with the namespace kube-system, which stops at the end of the test.
func NewServer(t *testing.T) *Server {
	t.Helper()
	s := &Server{objects: map[string]*unstructured.Unstructured{}}
	system := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	system.SetName(metav1.NamespaceSystem)
	system.SetUID(ClusterUID)
	s.objects["/api/v1/namespaces/"+metav1.NamespaceSystem] = system
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// Requests returns the verbs and paths of all requests with one of the verbs: get, list, watch, create, delete, apply,
// dry-run (of an apply) and patch.
func (s *Server) Requests(verbs ...string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests), func(request string) bool {
		verb, _, _ := strings.Cut(request, " ")
		return !slices.Contains(verbs, verb)
	})
}

// Object returns the object at a path, or nil.
func (s *Server) Object(path string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[path].DeepCopy()
}

// Paths returns the paths of all objects, except that of the namespace kube-system.
func (s *Server) Paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.objects)), func(path string) bool {
		return path == "/api/v1/namespaces/"+metav1.NamespaceSystem
	})
}

// Apply applies an object for another client, and returns the result.
func (s *Server) Apply(t *testing.T, manager string, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	_, after, err := s.apply(PathOf(t, obj), obj, manager, true, false)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

// Edit changes an object as another client, like kubectl edit.
func (s *Server) Edit(t *testing.T, path, manager string, change func(*unstructured.Unstructured)) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.objects[path].DeepCopy()
	change(changed)
	if _, err := s.update(path, manager, changed); err != nil {
		t.Fatal(err)
	}
}

// Put stores an object as it is.
func (s *Server) Put(path string, obj *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[path] = obj.DeepCopy()
}

// Remove removes an object immediately.
func (s *Server) Remove(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, path)
}

// PathOf returns the path of an object of a kind in the table of kinds.
func PathOf(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	of, ok := kind.Of(obj.GroupVersionKind().GroupKind())
	if !ok {
		t.Fatalf("unknown kind %s", obj.GroupVersionKind())
	}
	root := "/apis/" + of.Group + "/" + of.Version
	if of.Group == "" {
		root = "/api/" + of.Version
	}
	if !of.ClusterScoped {
		root += "/namespaces/" + obj.GetNamespace()
	}
	return root + "/" + of.Resource + "/" + obj.GetName()
}

func (s *Server) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	verb, path := verbOf(request), request.URL.Path
	s.mu.Lock()
	s.requests = append(s.requests, verb+" "+path)
	s.mu.Unlock()
	api := API{Answer: func(string, string, *http.Request) (int, any) { return s.answer(verb, path, request) }}
	if s.Intercept != nil {
		if fault := s.Intercept(verb, path); fault != nil {
			fault(w, func() *httptest.ResponseRecorder {
				recorder := httptest.NewRecorder()
				api.ServeHTTP(recorder, request)
				return recorder
			})
			return
		}
	}
	api.ServeHTTP(w, request)
}

func verbOf(request *http.Request) string {
	query := request.URL.Query()
	switch {
	case query.Get("watch") == "true":
		return "watch"
	case request.Method == http.MethodPatch && request.Header.Get("Content-Type") != string(types.ApplyPatchType):
		return "patch"
	case request.Method == http.MethodPatch && query.Get("dryRun") != "":
		return "dry-run"
	case request.Method == http.MethodPatch:
		return "apply"
	case request.Method == http.MethodPost:
		return "create"
	case request.Method == http.MethodDelete:
		return "delete"
	case isCollection(request.URL.Path):
		return "list"
	}
	return "get"
}

// isCollection reports whether a path is that of the objects of a kind, which has a name less than that of an object.
func isCollection(path string) bool {
	steps := strings.Split(strings.Trim(path, "/"), "/")
	version := 1
	if steps[0] == "apis" {
		version = 2
	}
	return len(steps) > version && (len(steps)-version)%2 == 0
}

func (s *Server) answer(verb, path string, request *http.Request) (int, any) {
	if code, body, ok := GetsOnly(verb, path, request); ok {
		return code, body
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return Failing(http.StatusBadRequest, metav1.StatusReasonBadRequest)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	manager := request.URL.Query().Get("fieldManager")
	code, after, err := http.StatusOK, s.objects[path], error(nil)
	switch verb {
	case "apply", "dry-run":
		sent := &unstructured.Unstructured{}
		if err = json.Unmarshal(body, &sent.Object); err == nil {
			code, after, err = s.apply(path, sent, manager, request.URL.Query().Get("force") == "true",
				verb == "dry-run")
		}
	case "patch":
		after, err = s.patch(path, manager, types.PatchType(request.Header.Get("Content-Type")), body)
	case "delete":
		err = s.remove(path, body)
	default:
		if after == nil {
			err = missing(path)
		}
	}
	if status, failed := err.(apierrors.APIStatus); failed {
		return int(status.Status().Code), status.Status()
	}
	if err != nil {
		return http.StatusInternalServerError, metav1.Status{Reason: metav1.StatusReasonInternalError,
			Message: err.Error()}
	}
	return code, after
}

func missing(path string) error {
	steps := strings.Split(path, "/")
	return apierrors.NewNotFound(schema.GroupResource{Resource: steps[len(steps)-2]}, steps[len(steps)-1])
}

func conflict(path, format string, args ...any) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, path, fmt.Errorf(format, args...))
}

func (s *Server) apply(
	path string, sent *unstructured.Unstructured, manager string, force, dryRun bool,
) (int, *unstructured.Unstructured, error) {
	code, before := http.StatusOK, s.objects[path]
	switch {
	case before == nil && manager == kind.ManagedByValue && sent.GetUID() != "":
		return 0, nil, conflict(path, "no object has the UID %s", sent.GetUID())
	case before == nil:
		code, before = http.StatusCreated, s.empty(sent)
	case sent.GetUID() != "" && sent.GetUID() != before.GetUID():
		return 0, nil, conflict(path, "the object has the UID %s", before.GetUID())
	}
	fields, err := fieldManager(sent.GroupVersionKind())
	if err != nil {
		return 0, nil, err
	}
	after, err := fields.Apply(before, sent, manager, force)
	if err != nil {
		return 0, nil, err
	}
	return code, s.store(path, before, after, dryRun), nil
}

// empty returns a new object without fields of clients.
func (s *Server) empty(sent *unstructured.Unstructured) *unstructured.Unstructured {
	s.version++
	out := &unstructured.Unstructured{Object: map[string]any{}}
	out.SetGroupVersionKind(sent.GroupVersionKind())
	out.SetNamespace(sent.GetNamespace())
	out.SetName(sent.GetName())
	out.SetUID(types.UID(fmt.Sprintf("uid-%d", s.version)))
	if sent.GetUID() != "" { // of another client in a test
		out.SetUID(sent.GetUID())
	}
	out.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	return out
}

func (s *Server) store(
	path string, before *unstructured.Unstructured, changed runtime.Object, dryRun bool,
) *unstructured.Unstructured {
	after, _ := changed.(*unstructured.Unstructured)
	after = after.DeepCopy()
	if !equality.Semantic.DeepEqual(before.Object, after.Object) && !dryRun {
		s.version++
		after.SetResourceVersion(fmt.Sprint(s.version))
	}
	if !dryRun {
		s.objects[path] = after
	}
	return after.DeepCopy()
}

func (s *Server) patch(
	path, manager string, of types.PatchType, body []byte,
) (*unstructured.Unstructured, error) {
	before := s.objects[path]
	if before == nil {
		return nil, missing(path)
	}
	text, err := json.Marshal(before.Object)
	if err != nil {
		return nil, err
	}
	if of == types.JSONPatchType {
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(body); err == nil {
			text, err = operations.Apply(text)
		}
	} else {
		text, err = jsonpatch.MergePatch(text, body)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	after := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &after.Object); err != nil {
		return nil, err
	}
	return s.update(path, manager, after)
}

func (s *Server) update(path, manager string, after *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	before := s.objects[path]
	if after.GetResourceVersion() != before.GetResourceVersion() || after.GetUID() != before.GetUID() {
		return nil, conflict(path, "the object has been modified")
	}
	fields, err := fieldManager(after.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	changed, err := fields.Update(before, after, manager)
	if err != nil {
		return nil, err
	}
	return s.store(path, before, changed, false), nil
}

func (s *Server) remove(path string, body []byte) error {
	before := s.objects[path]
	if before == nil {
		return missing(path)
	}
	var options metav1.DeleteOptions
	if err := json.Unmarshal(body, &options); err != nil && len(body) > 0 {
		return err
	}
	if only := options.Preconditions; only != nil && only.UID != nil && *only.UID != before.GetUID() {
		return conflict(path, "the object has the UID %s", before.GetUID())
	}
	if len(before.GetFinalizers()) == 0 {
		delete(s.objects, path)
		return nil
	}
	now := metav1.Now()
	before.SetDeletionTimestamp(&now)
	return nil
}
