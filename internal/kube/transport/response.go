package transport

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

const (
	// valueSize is the minimum average size in bytes of the JSON values in a response of the maximum size. In genuine
	// objects it is 14 to 20. Without this limit, "{},{},…" would take 30 times its size when it is decoded.
	valueSize = 10
	// maxPages is the maximum number of pages of a list: half a million objects. Kubernetes supports 150,000 pods.
	maxPages = 1000
	// maxName is the maximum length of a foreign name in an error, in characters.
	maxName = 100
)

// Limits are the maximum sizes of what an API server sends, in bytes, decompressed.
type Limits struct {
	Page    int // of a list
	List    int // over all its pages
	Message int // any other response, or a message of a watch
}

// DefaultLimits returns the limits of the provider. A page can have ten thousand large objects, a list 150,000 pods of
// 14 kB. etcd stores objects of up to 1.5 MiB by default.
func DefaultLimits() Limits { return Limits{Page: 512 << 20, List: 2 << 30, Message: 32 << 20} }

// tooLargeError reports a response, or a message of a watch, that exceeds a limit in bytes.
type tooLargeError struct{ limit int }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the response is larger than %d MiB, which no API server sends", e.limit>>20)
}

// unexpectedError reports a response that is not what was requested.
type unexpectedError string

func (e unexpectedError) Error() string {
	return string(e) + "; another server or a gateway may use the address of the API server"
}

// apiPath matches the path of objects: group, version, namespace, resource, name and subresource.
var apiPath = regexp.MustCompile(`^(?:/api|/apis/([^/]+))/([^/]+)(?:/namespaces/([^/]+))?/([^/]+)(?:/([^/]+))?` +
	`(?:/([^/]+))?$`)

// target is what a request requests, by its path.
type target struct {
	path                                   string // after that of the server, without a slash at the end
	gv                                     schema.GroupVersion
	namespace, resource, name, subresource string // without a resource: discovery, or no API
	list                                   bool
}

func targetOf(request *http.Request, root string) target {
	t := target{path: strings.TrimSuffix(strings.TrimPrefix(request.URL.Path, root), "/")}
	if part := apiPath.FindStringSubmatch(t.path); part != nil {
		t.gv = schema.GroupVersion{Group: part[1], Version: part[2]}
		t.namespace, t.resource, t.name, t.subresource = part[3], part[4], part[5], part[6]
		t.list = t.name == "" && request.Method == http.MethodGet
	}
	return t
}

// of returns the maximum size of a response to the request for a target.
func (l Limits) of(t target, response *http.Response) int {
	if t.list && response.StatusCode == http.StatusOK {
		return l.Page
	}
	return l.Message
}

// head contains the fields of a response that identify it.
type head struct {
	metav1.TypeMeta

	Name, GroupVersion text // of a discovery document
	Status             text
	Items              present
	Metadata           struct{ Name, Namespace, Continue text }
}

// text is a string. Fields of other types, such as the status of an object, are not decoded.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	_ = json.Unmarshal(data, (*string)(t))
	return nil
}

// present reports whether a field is present. It does not decode the field.
type present bool

func (p *present) UnmarshalJSON([]byte) error {
	*p = true
	return nil
}

// checker checks whether responses are what was requested. It is below all clients of a cluster, so that none of them
// takes a Status for an empty list, or the object of another server for its own.
type checker struct {
	root   string // path of the server
	limits Limits

	mu    sync.Mutex
	lists map[string]received // by the list
}

// received is what was received of a list.
type received struct{ pages, bytes int }

func (c *checker) check(request *http.Request, reply *reply) error {
	t := targetOf(request, c.root)
	if limit := c.limits.of(t, reply.Response); values(reply.body) > limit/valueSize {
		return &tooLargeError{limit}
	}
	var got head
	invalid := Is[*json.SyntaxError](json.Unmarshal(reply.body, &got))
	notAPI := t.resource == "" && !strings.HasPrefix(t.path, "/api") // such as the OpenAPI document
	switch {
	case invalid && reply.hasType("application/json") && reply.succeeded():
		return errIncomplete // after a broken connection, an incomplete response may look finished
	case notAPI, t.subresource == "log", reply.webPage(): // see Transport
		return nil
	case reply.succeeded() && !got.is(t, request):
		return unexpectedError(fmt.Sprintf("the response (kind %q, API version %q, name %q) is not what was requested",
			printable.Cut(got.Kind, maxName), printable.Cut(got.APIVersion, maxName),
			printable.Cut(string(got.Metadata.Name), maxName)))
	}
	return c.page(t, request, string(got.Metadata.Continue), len(reply.body))
}

// is reports whether a successful response is what was requested. Custom kinds can have any plural, and their lists any
// kind.
func (h *head) is(t target, request *http.Request) bool {
	single, isList := strings.CutSuffix(h.Kind, "List")
	switch {
	case h.Kind == "" || h.Kind == "Status" && h.Status == metav1.StatusFailure:
		return false
	case t.resource == "":
		return h.isDiscovery(t.path)
	case request.Method != http.MethodGet && request.Method != http.MethodPatch, t.subresource != "":
		return true // such as the Status of a deletion
	case string(h.Metadata.Name) != t.name || !t.list && string(h.Metadata.Namespace) != t.namespace:
		return false
	case h.APIVersion == metav1.SchemeGroupVersion.String():
		return strings.Contains(request.Header.Get("Accept"), "as="+h.Kind+";")
	case h.APIVersion != t.gv.String() || t.list && !bool(h.Items):
		return false
	case !strings.Contains(t.gv.Group, "."):
		return isList == t.list && kind.Guess(t.gv.WithKind(single)).Resource == t.resource
	}
	return true
}

// isDiscovery reports whether a response is the discovery document of a path.
func (h *head) isDiscovery(path string) bool {
	name, isGroup := strings.CutPrefix(strings.TrimPrefix(path, "/api"), "s")
	name = strings.TrimPrefix(name, "/")
	switch {
	case name == "":
		return h.Kind == "APIGroupList"
	case isGroup && !strings.Contains(name, "/"):
		return h.Kind == "APIGroup" && string(h.Name) == name
	}
	return h.Kind == "APIResourceList" && string(h.GroupVersion) == name
}

// page counts the pages and bytes of a list, whose response contains a token for the next page, or none. Without a
// limit, a server could continue a list forever.
func (c *checker) page(t target, request *http.Request, token string, size int) error {
	if !t.list {
		return nil
	}
	query := request.URL.Query()
	list := t.path + "?" + query.Get("labelSelector") + "&" + query.Get("fieldSelector")
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := query.Get("continue")
	var so received
	if sent != "" {
		so = c.lists[list]
	}
	so = received{so.pages + 1, so.bytes + size}
	c.lists[list] = so
	switch {
	case so.bytes > c.limits.List:
		return &tooLargeError{c.limits.List}
	case token != "" && (token == sent || so.pages >= maxPages || !query.Has("limit")):
		return unexpectedError(fmt.Sprintf("the list at %s does not end after page %d", t.path, so.pages))
	}
	return nil
}

// values returns the number of values in a JSON text, approximately.
func values(text []byte) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}
