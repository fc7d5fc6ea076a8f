package kube

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// pagesOf is an API server with three Deployments in pages of one. The token of the second page has expired.
type pagesOf struct {
	t       *testing.T
	queries []string
}

func (p *pagesOf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	p.queries = append(p.queries, query.Get("continue"))
	if query.Get("labelSelector") != "team=ml" || query.Get("limit") != "500" {
		p.t.Errorf("the query is %s", r.URL.RawQuery)
	}
	w.Header().Set("Content-Type", "application/json")
	page := func(name, next string) {
		fmt.Fprintf(w, `{"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {"continue": %q},
			"items": [{"metadata": {"name": %q, "namespace": "ml"}}]}`, next, name)
	}
	switch query.Get("continue") {
	case "":
		page("a", "expired")
	case "expired":
		w.WriteHeader(http.StatusGone)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410,
			"metadata": {"continue": "fresh"}}`)
	case "fresh":
		page("b", "last")
	default:
		page("c", "")
	}
}

func TestObjectsAreListedPageByPageAndAfterAnExpiredToken(t *testing.T) {
	t.Parallel()
	api := &pagesOf{t: t}
	var names []string
	scope := Ref{Kind: kind.Deployment(), Namespace: "ml"}
	for obj, err := range clusterOf(t, api).API.List(t.Context(), scope, "team=ml") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, obj.GetKind()+"/"+obj.GetName())
	}
	if got, want := strings.Join(names, " "), "Deployment/a Deployment/b Deployment/c"; got != want {
		t.Errorf("listed %s, want %s", got, want)
	}
	if got, want := strings.Join(api.queries, ","), ",expired,fresh,last"; got != want {
		t.Errorf("the tokens of the requests are %q, want %q", got, want)
	}
}

func TestObjectsThatAreNotConsumedAreNotRequested(t *testing.T) {
	t.Parallel()
	api := &pagesOf{t: t}
	of := Ref{Kind: kind.Deployment(), Namespace: "ml"}
	for _, err := range clusterOf(t, api).API.List(t.Context(), of, "team=ml") {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if len(api.queries) != 1 {
		t.Errorf("%d requests, want 1", len(api.queries))
	}
}

func TestObjectsEndWithAnErrorWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs int
	for obj, err := range clusterOf(t, &pagesOf{t: t}).API.List(ctx, Ref{Kind: kind.Deployment()}, "team=ml") {
		if err == nil || obj != nil {
			t.Errorf("listed %v, %v", obj, err)
		}
		errs++
	}
	if errs != 1 {
		t.Errorf("%d errors, want 1", errs)
	}
}

func TestListingRequestsOnlyItsNamespace(t *testing.T) {
	t.Parallel()
	var paths []string
	listing := clusterOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(kubetest.Identified(r.URL.Path, []byte(`{"metadata": {}, "items": []}`)))
	})).API.Listing("ml")
	for _, of := range []Kind{kind.Service(), kind.StorageClass()} {
		if _, err := listing.Get(t.Context(), Ref{Kind: of, Namespace: "ml", Name: "a"}); !IsNotFound(err) {
			t.Errorf("%v, want NotFound", err)
		}
	}
	want := "/api/v1/namespaces/ml/services /apis/storage.k8s.io/v1/storageclasses"
	if got := strings.Join(paths, " "); got != want {
		t.Errorf("requests %s, want %s", got, want)
	}
}

func TestListingRequestsTheListOfAKindOnce(t *testing.T) {
	t.Parallel()
	requests := 0
	listing := clusterOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			return
		}
		requests++
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.URL.Path, "ingresses") {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
				"code": 403}`)
			return
		}
		fmt.Fprint(w, `{"kind": "ServiceList", "apiVersion": "v1", "metadata": {},
			"items": [{"metadata": {"name": "a", "namespace": "ml"}}]}`)
	})).API.Listing("")
	for range 3 {
		found, err := listing.Get(t.Context(), Ref{Kind: kind.Service(), Namespace: "ml", Name: "a"})
		if err != nil || found.GetName() != "a" {
			t.Errorf("%v, %v", found, err)
		}
		missing := Ref{Kind: kind.Service(), Namespace: "other", Name: "a"}
		if _, err := listing.Get(t.Context(), missing); !IsNotFound(err) {
			t.Errorf("%v, want NotFound", err)
		}
		denied := Ref{Kind: kind.Ingress(), Namespace: "ml", Name: "a"}
		if _, err := listing.Get(t.Context(), denied); ClassOf(err) != Denied {
			t.Errorf("%v, want Denied", err)
		}
	}
	if requests != 3 { // a rejection is final if the server was ready before
		t.Errorf("%d requests, want 3", requests)
	}
}
