package lifecycle_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	listschema "github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

type (
	lister = lifecycle.Lister[model, privateState]
	query  = lifecycle.Query
	item   = lifecycle.Item
)

// newLister returns the list resource of kt_thing with the data of the provider.
func newLister(t *testing.T, h *hooks, data any) *lister {
	t.Helper()
	l := &lister{Resource: lifecycle.New[model](lifecycle.Kind{Type: "kt_thing", Noun: "thing"}, h)}
	var resp resource.ConfigureResponse
	l.Configure(t.Context(), resource.ConfigureRequest{ProviderData: data}, &resp)
	if len(resp.Diagnostics) > 0 {
		t.Fatal(resp.Diagnostics)
	}
	return l
}

// request returns a request to list at most limit resources; 0 for all.
func request(t *testing.T, include bool, limit int64) list.ListRequest {
	t.Helper()
	return list.ListRequest{IncludeResource: include, Limit: limit,
		ResourceSchema:         schema.Schema{Attributes: attributes()},
		ResourceIdentitySchema: owned.IdentitySchema("thing")}
}

// yields returns a function that finds the results: names and errors.
func yields(results ...any) func(*query) iter.Seq2[item, error] {
	return func(*query) iter.Seq2[item, error] {
		return func(yield func(item, error) bool) {
			for _, result := range results {
				var found item
				err, failed := result.(error)
				if !failed {
					name, _ := result.(string)
					found = item{Display: "Thing " + name, Live: kind.Service().Named("ml", name),
						Identity: owned.Identity{Namespace: types.StringValue("ml"), Name: types.StringValue(name)}}
				}
				if !yield(found, err) {
					return
				}
			}
		}
	}
}

// finding returns a search with the filter, whatever the configuration.
func finding(
	filter lifecycle.Filter, find func(*query) iter.Seq2[item, error],
) func(context.Context, tfsdk.Config) (lifecycle.Search, diag.Diagnostics) {
	return func(context.Context, tfsdk.Config) (lifecycle.Search, diag.Diagnostics) {
		return lifecycle.Search{Filter: filter,
			Find: func(_ context.Context, q *query) iter.Seq2[item, error] { return find(q) }}, nil
	}
}

func collect(t *testing.T, l *lister, req list.ListRequest, filter lifecycle.Filter,
	find func(*query) iter.Seq2[item, error],
) []list.ListResult {
	t.Helper()
	var stream list.ListResultsStream
	l.Search = finding(filter, find)
	l.List(t.Context(), req, &stream)
	return slices.Collect(stream.Results)
}

func TestListYieldsResourcesUntilAnErrorOrItsLimit(t *testing.T) {
	t.Parallel()
	services := kube.Ref{Kind: kind.Service()}
	denied := &kube.Error{Op: "list", Ref: services, Class: kube.Denied, Err: errors.New("no rights")}
	failed := &kube.Error{Op: "list", Ref: services, Class: kube.Unreachable, Err: errors.New("reset")}
	for name, c := range map[string]struct {
		results []any
		limit   int64
		want    []string
	}{
		"all":                      {[]any{"a", "b", "c"}, 0, []string{"Thing a", "Thing b", "Thing c"}},
		"a limit":                  {[]any{"a", "b", "c"}, 2, []string{"Thing a", "Thing b"}},
		"a limit of one":           {[]any{"a", "b"}, 1, []string{"Thing a"}},
		"a kind without rights":    {[]any{"a", denied, "b"}, 0, []string{"Thing a", "Thing b", "Warning"}},
		"two kinds without rights": {[]any{denied, "a", denied}, 0, []string{"Thing a", "Warning"}},
		"a limit and a warning":    {[]any{denied, "a", "b"}, 1, []string{"Thing a", "Warning"}},
		"a failure ends the list":  {[]any{"a", failed, "b"}, 0, []string{"Thing a", "Error"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLister(t, &hooks{}, dataAt(t, "http://127.0.0.1:1"))
			var got []string
			for _, result := range collect(t, l, request(t, false, c.limit), lifecycle.Filter{}, yields(c.results...)) {
				text := result.DisplayName
				if len(result.Diagnostics) > 0 {
					text = result.Diagnostics[0].Severity().String()
				} else {
					var identity owned.Identity
					if diags := result.Identity.Get(t.Context(), &identity); diags.HasError() ||
						"Thing "+identity.Name.ValueString() != text || identity.Namespace.ValueString() != "ml" {
						t.Errorf("%s has the identity %v, %v", text, identity, diags)
					}
					if !result.Resource.Raw.IsNull() {
						t.Errorf("%s has a state that was not requested", text)
					}
				}
				got = append(got, text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestListThatCannotBeFilteredSaysThatItIsEmpty(t *testing.T) {
	t.Parallel()
	for class, c := range map[kube.Class]struct {
		severity diag.Severity
		detail   string
	}{
		kube.Denied:      {diag.SeverityWarning, "`idle` cannot be evaluated. The list is empty"},
		kube.Unreachable: {diag.SeverityError, "reset"},
	} {
		err := &kube.Error{Op: "list", Ref: kube.Ref{Kind: kind.Pod()}, Class: class, Err: errors.New("reset")}
		l := newLister(t, &hooks{}, dataAt(t, "http://127.0.0.1:1"))
		results := collect(t, l, request(t, false, 0), lifecycle.Filter{},
			yields(&lifecycle.UndecidedError{Filter: "idle", Err: err}))
		if len(results) != 1 || len(results[0].Diagnostics) != 1 {
			t.Fatalf("%v: %v", class, results)
		}
		if found := results[0].Diagnostics[0]; found.Severity() != c.severity ||
			!strings.Contains(found.Detail(), c.detail) || strings.Contains(found.Detail(), "of other kinds") {
			t.Errorf("%v: %v", class, found)
		}
	}
}

func TestListEndsWithItsReader(t *testing.T) {
	t.Parallel()
	l := newLister(t, &hooks{}, dataAt(t, "http://127.0.0.1:1"))
	services := kube.Ref{Kind: kind.Service()}
	denied := &kube.Error{Op: "list", Ref: services, Class: kube.Denied, Err: errors.New("no rights")}
	for _, results := range [][]any{{"a", "b"}, {denied, "b"}} {
		var stream list.ListResultsStream
		l.Search = finding(lifecycle.Filter{}, yields(results...))
		l.List(t.Context(), request(t, false, 0), &stream)
		count := 0
		for range stream.Results {
			count++
			break
		}
		if count != 1 {
			t.Errorf("%d results", count)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stream list.ListResultsStream
	l.Search = finding(lifecycle.Filter{}, yields("a", "b"))
	l.List(ctx, request(t, false, 0), &stream)
	count := 0
	for range stream.Results {
		count++
		cancel()
	}
	if count != 1 {
		t.Errorf("%d results after an interruption", count)
	}
}

func TestListedResourceIsImported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		imported func(*reading) error
		size     string
		warned   string
	}{
		"imported": {imported: func(r *reading) error { r.State.Size = types.StringValue("2"); return nil }, size: "2"},
		"it is gone": {imported: func(r *reading) error {
			return r.NothingToImport("It was deleted.")
		}, warned: "It was deleted."},
		"a failure": {imported: func(*reading) error { return errors.New("reset") },
			warned: "listed without its attributes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hooks{}
			h.imported = func(r *reading) error {
				if r.Live.GetName() != "a" || r.Listing == nil || r.Memory == nil || r.Data == nil ||
					r.State.ID.ValueString() != "ml/a" || r.State.Name.ValueString() != "a" ||
					r.State.Namespace.ValueString() != "ml" || !r.State.Manifests.IsNull() {
					t.Errorf("reading %+v", r)
				}
				return c.imported(r)
			}
			l := newLister(t, h, dataAt(t, "http://127.0.0.1:1"))
			results := collect(t, l, request(t, true, 0), lifecycle.Filter{}, yields("a"))
			if len(results) != 1 || results[0].Diagnostics.HasError() ||
				(len(results[0].Diagnostics) > 0) != (c.warned != "") {
				t.Fatalf("%+v", results)
			}
			for _, d := range results[0].Diagnostics {
				if !strings.Contains(d.Detail(), c.warned) {
					t.Errorf("%v, want %q", d, c.warned)
				}
			}
			var state model
			if diags := results[0].Resource.Get(t.Context(), &state); diags.HasError() ||
				state.ID.ValueString() != "ml/a" || state.Size.ValueString() != c.size {
				t.Errorf("state %+v, %v", state, diags)
			}
		})
	}
}

func TestListedNamespaceIsThatOfTheFilterOrTheProvider(t *testing.T) {
	t.Parallel()
	data := dataAt(t, "http://127.0.0.1:1")
	for name, c := range map[string]struct {
		data   *tf.ProviderData
		filter lifecycle.Filter
		want   string
		failed string // summary
	}{
		"of the provider": {data, lifecycle.Filter{}, "ml", ""},
		"of the filter":   {data, lifecycle.Filter{Namespace: types.StringValue("web")}, "web", ""},
		"all":             {data, lifecycle.Filter{AllNamespaces: types.BoolValue(true)}, "", ""},
		"an unknown provider": {&tf.ProviderData{Unknown: true}, lifecycle.Filter{}, "",
			"The configuration of the provider is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := false
			results := collect(t, newLister(t, &hooks{}, c.data), request(t, false, 0), c.filter,
				func(q *query) iter.Seq2[item, error] {
					found = true
					if q.Namespace != c.want || q.Listing == nil || q.Cluster != c.data.Cluster ||
						q.Filter != c.filter {
						t.Errorf("query %+v", q)
					}
					return yields()(q)
				})
			if c.failed == "" && (!found || len(results) > 0) || c.failed != "" && (len(results) != 1 ||
				results[0].Diagnostics[0].Summary() != c.failed) {
				t.Errorf("%v", results)
			}
		})
	}
	var stream list.ListResultsStream
	l := newLister(t, &hooks{}, misconfiguredData(t))
	l.Search = finding(lifecycle.Filter{}, yields("a"))
	l.List(t.Context(), request(t, false, 0), &stream)
	results := slices.Collect(stream.Results)
	if len(results) != 1 || len(results[0].Diagnostics) != 1 {
		t.Fatalf("%v", results)
	}
	if at, ok := results[0].Diagnostics[0].(diag.DiagnosticWithPath); !ok || at.Path().String() != "namespace" {
		t.Errorf("%v", results[0].Diagnostics)
	}
}

// filterOf returns a configuration that consists of a filter.
func filterOf(t *testing.T, values map[string]tftypes.Value) tfsdk.Config {
	t.Helper()
	described := lifecycle.FilterSchema("things", nil)
	object, _ := described.Type().TerraformType(t.Context()).(tftypes.Object)
	all := map[string]tftypes.Value{}
	for name, typ := range object.AttributeTypes {
		all[name] = tftypes.NewValue(typ, nil)
		if value, ok := values[name]; ok {
			all[name] = value
		}
	}
	return tfsdk.Config{Schema: described, Raw: tftypes.NewValue(object, all)}
}

func TestFilterIsReadFromTheConfiguration(t *testing.T) {
	t.Parallel()
	web, yes := tftypes.NewValue(tftypes.String, "web"), tftypes.NewValue(tftypes.Bool, true)
	l := lifecycle.ListItems[model](lifecycle.Kind{Type: "kt_thing"}, &hooks{}, "things", kind.Service(), "", nil, nil)
	var configured resource.ConfigureResponse
	l.Configure(t.Context(), resource.ConfigureRequest{
		ProviderData: dataAt(t, "http://127.0.0.1:1")}, &configured)
	req := request(t, false, 0)
	search, diags := l.Search(t.Context(), filterOf(t, map[string]tftypes.Value{"namespace": web}))
	if search.Filter.Namespace.ValueString() != "web" || search.Find == nil || len(diags) > 0 {
		t.Errorf("filter %v, %v", search.Filter, diags)
	}
	var stream list.ListResultsStream
	broken := filterOf(t, nil)
	broken.Raw = tftypes.NewValue(tftypes.String, "x")
	req.Config = broken
	l.List(t.Context(), req, &stream)
	if results := slices.Collect(stream.Results); len(results) != 1 || !results[0].Diagnostics.HasError() {
		t.Errorf("%v", results)
	}
	for name, c := range map[string]struct {
		values map[string]tftypes.Value
		failed bool
	}{
		"both":           {map[string]tftypes.Value{"namespace": web, "all_namespaces": yes}, true},
		"a namespace":    {map[string]tftypes.Value{"namespace": web}, false},
		"all namespaces": {map[string]tftypes.Value{"all_namespaces": yes}, false},
		"neither":        {nil, false},
		"explicitly not all": {map[string]tftypes.Value{"namespace": web,
			"all_namespaces": tftypes.NewValue(tftypes.Bool, false)}, false},
	} {
		var resp list.ValidateConfigResponse
		l.ValidateListResourceConfig(t.Context(), list.ValidateConfigRequest{Config: filterOf(t, c.values)}, &resp)
		if resp.Diagnostics.HasError() != c.failed {
			t.Errorf("%s: %v", name, resp.Diagnostics)
		}
	}
	var resp resource.MetadataResponse
	var filters list.ListResourceSchemaResponse
	l.ListResourceConfigSchema(t.Context(), list.ListResourceSchemaRequest{}, &filters)
	if len(filters.Schema.Attributes) != 5 || !strings.Contains(filters.Schema.MarkdownDescription, "things") {
		t.Errorf("%v", filters.Schema)
	}
	if l.Metadata(t.Context(), resource.MetadataRequest{}, &resp); resp.TypeName != "kt_thing" {
		t.Errorf("type %q", resp.TypeName)
	}
	own := lifecycle.FilterSchema("things", map[string]listschema.Attribute{
		"own": listschema.BoolAttribute{Optional: true}})
	if len(own.Attributes) != 6 || !strings.Contains(own.MarkdownDescription, "things") {
		t.Errorf("%v", own)
	}
}

// services serves Services and ClusterQueues, and records the queries of lists.
type services struct {
	mu      sync.Mutex
	queries []string
}

func service(name string, change ...func(*unstructured.Unstructured)) unstructured.Unstructured {
	obj := kind.Service().Named("ml", name)
	for _, c := range change {
		c(obj)
	}
	return *obj
}

func (s *services) answer(verb, path string, request *http.Request) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if code, body, ok := kubetest.GetsOnly(verb, path, request); verb != "list" && ok {
		return code, body
	}
	if path == "/api/v1" || path == "/apis/storage.k8s.io/v1" { // which documents the server has
		return http.StatusOK, metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
			APIResources: []metav1.APIResource{{Name: "services", Kind: "Service"},
				{Name: "storageclasses", Kind: "StorageClass"}}}
	}
	if path == "/apis/example.com/v1" || path == "/apis/" { // no other groups
		return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound}
	}
	if verb == "get" {
		obj := service(path[strings.LastIndex(path, "/")+1:])
		obj.SetUID("from-server")
		return http.StatusOK, &obj
	}
	s.queries = append(s.queries, path+"?"+request.URL.Query().Get("labelSelector"))
	switch path {
	case "/api/v1/namespaces/denied/services", "/apis/example.com/v1/namespaces/denied/widgets",
		"/apis/storage.k8s.io/v1/storageclasses":
		return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
	case "/api/v1/namespaces/missing/services":
		return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound,
			Details: &metav1.StatusDetails{Kind: "services", Name: "x"}}
	case "/apis/example.com/v1/namespaces/ml/widgets":
		return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound}
	}
	out := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceList",
		"metadata": map[string]any{"resourceVersion": "1"}}}
	ours := func(obj *unstructured.Unstructured) {
		obj.SetLabels(map[string]string{kind.ManagedByLabel: kind.ManagedByValue})
	}
	applied := func(obj *unstructured.Unstructured) {
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: kube.Manager, Operation: "Apply",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}})
	}
	yes := true
	controlled := func(obj *unstructured.Unstructured) {
		obj.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Other", Name: "o", Controller: &yes}})
	}
	out.Items = []unstructured.Unstructured{service("labelled", ours), service("applied", applied), service("foreign"),
		service("controlled", ours, controlled), service("rejected", ours)}
	return http.StatusOK, out
}

// query returns a query of the filter, with the server.
func (s *services) query(t *testing.T, filter lifecycle.Filter) *query {
	t.Helper()
	api := httptest.NewServer(kubetest.API{Answer: s.answer})
	t.Cleanup(api.Close)
	cluster := clusterAt(t, api.URL)
	return &query{Cluster: cluster, Filter: filter, Namespace: "ml", Listing: cluster.API.Listing("ml")}
}

func names(t *testing.T, objects iter.Seq2[*unstructured.Unstructured, error]) (found []string, failed error) {
	t.Helper()
	for obj, err := range objects {
		if err != nil {
			return found, err
		}
		found = append(found, obj.GetName())
	}
	return found, nil
}

func TestListedObjectsAreThoseOfTheFilter(t *testing.T) {
	t.Parallel()
	text := types.StringValue
	for name, c := range map[string]struct {
		filter   lifecycle.Filter
		further  string
		want     string
		selector string
	}{
		"all": {want: "labelled applied foreign controlled rejected"},
		"managed": {filter: lifecycle.Filter{Managed: types.BoolValue(true)},
			want: "labelled applied controlled rejected"},
		"unmanaged": {filter: lifecycle.Filter{Managed: types.BoolValue(false)}, want: "foreign"},
		"selectors": {filter: lifecycle.Filter{LabelSelector: text("a=b"), Username: text("anna")}, further: "c=d",
			want:     "labelled applied foreign controlled rejected",
			selector: "a=b,c=d," + kind.UsernameLabel + "=anna"},
		"a user": {filter: lifecycle.Filter{Username: text("anna")},
			want: "labelled applied foreign controlled rejected", selector: kind.UsernameLabel + "=anna"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &services{}
			found, err := names(t, s.query(t, c.filter).Objects(t.Context(), kind.Service(), c.further))
			if err != nil || strings.Join(found, " ") != c.want ||
				!slices.Equal(s.queries, []string{"/api/v1/namespaces/ml/services?" + c.selector}) {
				t.Errorf("found %v, %v, queries %v", found, err, s.queries)
			}
		})
	}
}

func TestMissingKindHasNoObjects(t *testing.T) {
	t.Parallel()
	s := &services{}
	q := s.query(t, lifecycle.Filter{})
	widget := kube.Kind{Resource: "widgets"}
	widget.Group, widget.Version, widget.Kind = "example.com", "v1", "Widget"
	if found, err := names(t, q.Objects(t.Context(), widget, "")); len(found) > 0 || err != nil {
		t.Errorf("a missing kind: %v, %v", found, err)
	}
	q.Namespace = "missing"
	if found, err := names(t, q.Objects(t.Context(), kind.Service(), "")); len(found) > 0 || err != nil {
		t.Errorf("a missing namespace: %v, %v", found, err)
	}
	q.Namespace = "denied"
	if _, err := names(t, q.Objects(t.Context(), kind.Service(), "")); kube.ClassOf(err) != kube.Denied {
		t.Errorf("a missing permission: %v", err)
	}
	if found, err := names(t, q.Objects(t.Context(), widget, "")); len(found) > 0 || err != nil {
		t.Errorf("a missing permission for a missing kind: %v, %v", found, err)
	}
	s.queries = nil
	q.Namespace = "ml"
	if _, err := names(t, q.Objects(t.Context(), kind.StorageClass(), "")); err == nil ||
		strings.Contains(err.Error(), "namespace") ||
		!slices.Equal(s.queries, []string{"/apis/storage.k8s.io/v1/storageclasses?"}) {
		t.Errorf("a kind of the cluster: %v, queries %v", err, s.queries)
	}
}

func TestItemsAreAcceptedObjectsWithoutController(t *testing.T) {
	t.Parallel()
	accept := func(obj *unstructured.Unstructured) bool { return obj.GetName() != "rejected" }
	of := func(obj *unstructured.Unstructured) item { return item{Display: obj.GetName()} }
	q := (&services{}).query(t, lifecycle.Filter{})
	metadata := kind.Service()
	metadata.MetadataOnly = true
	for _, k := range []kube.Kind{kind.Service(), metadata} {
		var found []string
		for one, err := range q.Items(t.Context(), k, "", accept, of) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, one.Display)
		}
		if strings.Join(found, " ") != "labelled applied foreign" {
			t.Errorf("metadata only: %t, found %v", k.MetadataOnly, found)
		}
	}
	count := 0
	for _, err := range q.Items(t.Context(), kind.Service(), "", accept, of) {
		if err != nil {
			t.Fatal(err)
		}
		count++
		break
	}
	q.Namespace = "denied"
	for one, err := range q.Items(t.Context(), kind.Service(), "", accept, of) {
		count++
		if kube.ClassOf(err) != kube.Denied || one.Display != "" {
			t.Errorf("%v, %v", one, err)
		}
	}
	if count != 2 {
		t.Errorf("%d results", count)
	}
}

func TestImportOfAListedObjectReadsNothingElse(t *testing.T) {
	t.Parallel()
	s := &services{}
	q := s.query(t, lifecycle.Filter{})
	live := service("labelled")
	data := &tf.ProviderData{Run: run.New(t.Context(), q.Cluster, nil)}
	listed := &reading{Data: data, Live: &live, Listing: q.Listing}
	direct := &reading{Data: listed.Data}
	ref := func(of kube.Kind, name string) kube.Ref { return kube.Ref{Kind: of, Namespace: "ml", Name: name} }
	for name, c := range map[string]struct {
		r   *reading
		ref kube.Ref
		uid string
	}{
		"the listed object":   {listed, ref(kind.Service(), "labelled"), ""},
		"an object of a list": {listed, ref(kind.Service(), "foreign"), ""},
		"without a list":      {direct, ref(kind.Service(), "foreign"), "from-server"},
	} {
		for _, get := range []func(context.Context, kube.Ref) (*unstructured.Unstructured, error){c.r.Get, c.r.Read} {
			obj, err := get(t.Context(), c.ref)
			if err != nil || obj.GetName() != c.ref.Name || string(obj.GetUID()) != c.uid ||
				(obj == &live) != (c.ref.Name == "labelled") {
				t.Errorf("%s: %v, %v", name, obj, err)
			}
		}
	}
	if obj, err := listed.Get(t.Context(), ref(kind.ConfigMap(), "labelled")); err == nil && obj == &live {
		t.Error("an object of another kind is the listed one")
	}
}

func TestTextOfAListedResource(t *testing.T) {
	t.Parallel()
	obj := service("x")
	item := lifecycle.ItemOf(kind.Service(), &obj, "", lifecycle.Property("image", "a"),
		lifecycle.Property("user", ""), "1 pod", "2 pods")
	if got := item.Display; got != "Service ml/x, image a, 1 pod, 2 pods" {
		t.Error(got)
	}
	if got := item.Identity.ID().ValueString(); got != "ml/x" {
		t.Error(got)
	}
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: kube.Manager, Operation: "Apply",
		FieldsV1: metav1.NewFieldsV1(`{"bad":{}}`)}})
	if lifecycle.Managed(&obj) {
		t.Error("an object with unreadable owners is managed")
	}
}
