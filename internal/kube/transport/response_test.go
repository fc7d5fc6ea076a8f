package transport

import (
	"net/http"
	"testing"
)

// The responses were seen from API servers of Kubernetes, or are from their source. test/hostile has bad ones.
func TestGenuineResponsesAreAccepted(t *testing.T) {
	t.Parallel()
	const (
		table    = "application/json;as=Table;g=meta.k8s.io;v=v1, application/json"
		metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"
	)
	for name, test := range map[string]struct{ method, path, accept, body string }{
		"an empty list": {"GET", "/api/v1/pods", "",
			`{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}`},
		"a list of a CRD": {"GET", "/apis/a.b/v1/namespaces/n/things", "",
			`{"kind":"Stuff","apiVersion":"a.b/v1","items":[]}`},
		"a table": {"GET", "/api/v1/pods", table,
			`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`},
		"no table": {"GET", "/api/v1/pods", table,
			`{"kind":"PodList","apiVersion":"v1","items":[]}`},
		"a namespace": {"GET", "/api/v1/namespaces/n", "",
			`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"n"}}`},
		"below a path": {"GET", "/k8s/api/v1/nodes/n", "",
			`{"kind":"Node","apiVersion":"v1","metadata":{"name":"n"}}`},
		"an irregular kind": {"GET", "/apis/a.b/v1/data/n", "",
			`{"kind":"Datum","apiVersion":"a.b/v1","metadata":{"name":"n"},"name":1}`},
		"metadata": {"PATCH", "/api/v1/namespaces/n/secrets/s", metadata,
			`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"s","namespace":"n"}}`},
		"a deletion": {"DELETE", "/api/v1/namespaces/n/pods/p", "",
			`{"kind":"Status","apiVersion":"v1","status":"Success"}`},
		"an eviction": {"POST", "/api/v1/namespaces/n/pods/p/eviction", "",
			`{"kind":"Status","status":"Success"}`},
		"a subresource": {"GET", "/apis/apps/v1/namespaces/n/deployments/d/scale", "",
			`{"kind":"Scale"}`},
		"a custom object whose status is a text": {"GET", "/apis/a.b/v1/namespaces/n/things/t", "",
			`{"kind":"Thing","apiVersion":"a.b/v1","metadata":{"name":"t","namespace":"n"},"status":"Failure"}`},
		"a created object": {"POST", "/api/v1/namespaces/n/pods", "",
			`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"n"}}`},
		"a log": {"GET", "/api/v1/namespaces/n/pods/p/log", "", "line"},
		"groups": {"GET", "/apis/", "",
			`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`},
		"a group": {"GET", "/apis/apps", "",
			`{"kind":"APIGroup","apiVersion":"v1","name":"apps"}`},
		"resources": {"GET", "/apis/apps/v1", "",
			`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1"}`},
		"resources of core": {"GET", "/api/v1", "",
			`{"kind":"APIResourceList","groupVersion":"v1"}`},
		"an OpenAPI document": {"GET", "/openapi/v3/apis/apps/v1", "", `{"openapi":"3.0.0"}`},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, "https://h"+test.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", test.accept)
		checks := checker{limits: DefaultLimits(), lists: map[string]received{}}
		if name == "below a path" {
			checks.root = "/k8s"
		}
		response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}}
		if err := checks.check(request, &reply{Response: response, body: []byte(test.body)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// test/hostile tests each client against such responses.
func TestResponsesToOtherRequestsAreRejected(t *testing.T) {
	t.Parallel()
	const (
		pods   = "/api/v1/namespaces/n/pods"
		things = "/apis/a.b/v1/namespaces/n/things"
		tables = "application/json;as=Table;g=meta.k8s.io;v=v1, application/json"
	)
	for name, test := range map[string]struct{ method, path, accept, body string }{
		"no kind": {"GET", pods + "/p", "",
			`{"metadata":{"name":"p","namespace":"n"}}`},
		"no kind after a deletion": {"DELETE", pods + "/p", "",
			`{"status":"Success"}`},
		"a failed deletion": {"DELETE", pods + "/p", "",
			`{"kind":"Status","apiVersion":"v1","status":"Failure"}`},
		"a failed creation": {"POST", pods, "",
			`{"kind":"Status","apiVersion":"v1","status":"Failure"}`},
		"a failed subresource": {"GET", pods + "/p/status", "",
			`{"kind":"Status","status":"Failure"}`},
		"a Status for a list": {"GET", things, "",
			`{"kind":"Status","apiVersion":"a.b/v1","status":"Failure"}`},
		"an object for a list": {"GET", pods, "",
			`{"kind":"Pod","apiVersion":"v1","items":[]}`},
		"a list for an object": {"GET", pods + "/p", "",
			`{"kind":"PodList","apiVersion":"v1","metadata":{"name":"p","namespace":"n"}}`},
		"a list of another kind": {"GET", pods, "",
			`{"kind":"NodeList","apiVersion":"v1","items":[]}`},
		"a list of another version": {"GET", things, "",
			`{"kind":"ThingList","apiVersion":"a.b/v2","items":[]}`},
		"a list of another group": {"GET", things, "",
			`{"kind":"ThingList","apiVersion":"b.c/v1","items":[]}`},
		"a list without items": {"GET", things, "",
			`{"kind":"ThingList","apiVersion":"a.b/v1"}`},
		"a list with a name": {"GET", things, "",
			`{"kind":"ThingList","apiVersion":"a.b/v1","metadata":{"name":"t"},"items":[]}`},
		"another name": {"GET", pods + "/p", "",
			`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"q","namespace":"n"}}`},
		"another namespace": {"GET", pods + "/p", "",
			`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"m"}}`},
		"another kind": {"PATCH", pods + "/p", "",
			`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"p","namespace":"n"}}`},
		"a table, not requested": {"GET", pods, "",
			`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`},
		"metadata for a table": {"GET", pods, tables,
			`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[]}`},
		"a group for the groups": {"GET", "/apis", "",
			`{"kind":"APIGroup","apiVersion":"v1","name":"apps"}`},
		"another group": {"GET", "/apis/apps", "",
			`{"kind":"APIGroup","apiVersion":"v1","name":"batch"}`},
		"the groups for one group": {"GET", "/apis/apps", "",
			`{"kind":"APIGroupList","apiVersion":"v1","name":"apps"}`},
		"resources of another one": {"GET", "/apis/apps/v1", "",
			`{"kind":"APIResourceList","groupVersion":"apps/v2"}`},
		"a group for its resources": {"GET", "/apis/apps/v1", "",
			`{"kind":"APIGroup","groupVersion":"apps/v1"}`},
		"resources of another core": {"GET", "/api/v1", "",
			`{"kind":"APIResourceList","groupVersion":"v2"}`},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, "https://h"+test.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", test.accept)
		checks := checker{limits: DefaultLimits(), lists: map[string]received{}}
		response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}}
		err = checks.check(request, &reply{Response: response, body: []byte(test.body)})
		if !Is[unexpectedError](err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOnlyAPageOfAListMayBeLargerThanAMessage(t *testing.T) {
	t.Parallel()
	limits := Limits{Page: 2, Message: 1}
	for name, test := range map[string]struct{ path, code, want int }{
		"a list":         {0, http.StatusOK, limits.Page},
		"a failed list":  {0, http.StatusForbidden, limits.Message},
		"an object":      {1, http.StatusOK, limits.Message},
		"no such object": {1, http.StatusNotFound, limits.Message},
	} {
		path := []string{"/api/v1/namespaces/ml/pods", "/api/v1/namespaces/ml/pods/a"}[test.path]
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://h"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if got := limits.of(targetOf(request, ""), &http.Response{StatusCode: test.code}); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func TestAListIsLimitedOverItsPages(t *testing.T) {
	t.Parallel()
	checks := checker{limits: DefaultLimits(), lists: map[string]received{}}
	page := func(path, token, next string, size int) error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"https://h"+path+"?limit=500&continue="+token, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		return checks.page(targetOf(request, ""), request, next, size)
	}
	const pods, nodes = "/api/v1/pods", "/api/v1/nodes"
	limit := DefaultLimits().List
	for step, test := range []struct {
		path, token, next string
		size              int
		rejected          bool
	}{
		{pods, "", "a", limit - 1, false},
		{nodes, "", "a", limit, false},
		{pods, "a", "b", 1, false},
		{pods, "b", "c", 1, true},
		{pods, "", "a", limit, false}, // the list is requested again
		{pods, "a", "", 1, true},
	} {
		if err := page(test.path, test.token, test.next, test.size); Is[*tooLargeError](err) != test.rejected {
			t.Errorf("page %d: %v", step, err)
		}
	}
}
