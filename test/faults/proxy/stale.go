package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// noteWrite remembers the resource version of a response to a write.
func (p *Proxy) noteWrite(response *http.Response) error {
	if !identify(response.Request, "").Writes() || response.StatusCode >= http.StatusMultipleChoices {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	var object struct {
		Metadata struct{ ResourceVersion string }
	}
	_ = json.Unmarshal(body, &object) // other responses have no version
	version, _ := strconv.ParseUint(object.Metadata.ResourceVersion, 10, 64)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = max(p.written, version)
	return nil
}

// readStale responds with the state before the last write of the command: that of an API server that has not received
// the write. Before the first write, it forwards the request.
func (p *Proxy) readStale(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	version := p.written
	p.mu.Unlock()
	if version < 2 {
		p.forward.ServeHTTP(w, r)
		return
	}
	name := ""
	query := r.URL.Query()
	if !isList(r.URL.Path) {
		r.URL.Path, name = path.Split(r.URL.Path)
		r.URL.Path = strings.TrimSuffix(r.URL.Path, "/")
		query.Set("fieldSelector", "metadata.name="+name)
	}
	query.Set("resourceVersion", strconv.FormatUint(version-1, 10))
	query.Set("resourceVersionMatch", "Exact")
	r.URL.RawPath, r.URL.RawQuery = "", query.Encode()
	r.Header.Del("Accept-Encoding")
	response, err := p.execute(r)
	if err != nil {
		reset(r)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		reset(r)
	}
	if name != "" && response.StatusCode == http.StatusOK {
		response.StatusCode, body = onlyItem(body, name)
	}
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
	copyHeader(w, response)
	_, _ = w.Write(body)
}

// isList reports whether a path is that of a list: of a resource, or of a resource in a namespace.
func isList(path string) bool { return len(resource(path)) == 1 }

// resource returns the resource in a path, and what follows it: a name, and then possibly a subresource. It is empty
// for other paths.
func resource(path string) []string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	parts = parts[min(len(parts), map[string]int{"api": 2, "apis": 3}[parts[0]]):]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return parts
}

// readsObjects reports whether a path is that of an object or of a list of objects.
func readsObjects(path string) bool {
	parts := resource(path)
	return strings.HasPrefix(path, "/api") && (len(parts) == 1 || len(parts) == 2)
}

// onlyItem returns the response to a read of the only item of a list.
func onlyItem(body []byte, name string) (status int, object []byte) {
	var list struct {
		Kind, APIVersion string
		Items            []map[string]any
	}
	if json.Unmarshal(body, &list) != nil {
		return http.StatusOK, body
	}
	if len(list.Items) == 0 {
		return http.StatusNotFound, fmt.Appendf(nil, `{"kind":"Status","apiVersion":"v1","metadata":{},`+
			`"status":"Failure","message":%q,"reason":"NotFound","details":{"name":%q},"code":404}`,
			name+" not found", name)
	}
	item := list.Items[0]
	item["kind"], item["apiVersion"] = strings.TrimSuffix(list.Kind, "List"), list.APIVersion
	object, _ = json.Marshal(item) // decoded JSON
	return http.StatusOK, object
}

// expirePages responds to a list with its first object, and lets the next page expire.
func (p *Proxy) expirePages(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.expiring[r.URL.Path] = true
	p.mu.Unlock()
	query := r.URL.Query()
	query.Set("limit", "1")
	r.URL.RawQuery = query.Encode()
	p.forward.ServeHTTP(w, r)
}

// expires reports whether a request is for a page that has expired. The next request for it is served.
func (p *Proxy) expires(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.URL.Query().Get("continue") == "" || !p.expiring[r.URL.Path] {
		return false
	}
	delete(p.expiring, r.URL.Path)
	return true
}

// lateness is how much later the events of WatchLate arrive.
const lateness = 2 * time.Second

// filterWatch forwards a watch without some of its events, or late. Bookmarks are always sent.
func (p *Proxy) filterWatch(w http.ResponseWriter, r *http.Request, fault *Fault, released <-chan struct{}) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host, r.RequestURI = p.opts.Upstream.Scheme, p.opts.Upstream.Host, p.opts.Upstream.Host,
		""
	response, err := p.opts.Transport.RoundTrip(r) //nolint:bodyclose // reset does not return
	if err != nil {
		reset(r)
	}
	defer response.Body.Close()
	response.Request = r
	p.responded(response)
	response.Header.Del("Content-Length")
	copyHeader(w, response)
	events := make(chan arrival, maxEvents)
	go func() {
		defer close(events)
		decoder := json.NewDecoder(response.Body)
		for {
			var event json.RawMessage
			if decoder.Decode(&event) != nil {
				return
			}
			select {
			case events <- arrival{event, time.Now()}:
			case <-r.Context().Done():
				return
			}
		}
	}()
	n := 0
	for arrived := range events {
		if fault.Kind == WatchLate {
			sleep(r.Context(), released, time.Until(arrived.at.Add(lateness)))
		} else if n++; drops(fault.Seed, n) && !isBookmark(arrived.event) {
			continue
		}
		_, _ = w.Write(append(arrived.event, '\n'))
		_ = http.NewResponseController(w).Flush()
	}
}

// arrival is an event of a watch.
type arrival struct {
	event []byte
	at    time.Time
}

// maxEvents is how many events of a late watch can wait.
const maxEvents = 1024

// drops reports whether the event with a number is dropped: each bit of the seed stands for one.
func drops(seed uint64, n int) bool { return seed>>(n%64)&1 == 1 }

func isBookmark(event []byte) bool {
	var header struct{ Type string }
	return json.Unmarshal(event, &header) == nil && header.Type == "BOOKMARK"
}

// Admit serves only requests with a User-Agent, until the next call; all if it is empty. Others are reset: those of a
// provider that no longer exists.
func (p *Proxy) Admit(agent string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.agent = agent
}

func (p *Proxy) admits(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.agent == "" || r.UserAgent() == p.agent
}
