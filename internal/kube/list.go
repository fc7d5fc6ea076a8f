package kube

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"
)

// List returns the objects of the kind and namespace of scope from the server, page by page, without the cache.
// Without a namespace, it returns those of all namespaces. selector is a label selector, or "". The field selector of
// the kind applies, but not its label selector. An error ends the sequence. The next page is requested only after all
// objects of a page were consumed. Of the objects of a kind with MetadataOnly, it requests only the metadata.
func (a *API) List(
	ctx context.Context, scope Ref, selector string,
) iter.Seq2[*unstructured.Unstructured, error] {
	return func(yield func(*unstructured.Unstructured, error) bool) {
		options := metav1.ListOptions{LabelSelector: selector, FieldSelector: scope.Kind.FieldSelector}
		err := a.pages(ctx, scope, options, func(data []byte) (string, error) {
			page, err := scope.decodeList(data)
			if err != nil {
				return "", err
			}
			for i := range page.Items {
				if !yield(&page.Items[i], nil) {
					return "", nil
				}
			}
			return page.GetContinue(), nil
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// Each is [API.List] with objects of the type T, and with the selectors of options only. Objects that take does not
// keep are released with their page.
func Each[T any](ctx context.Context, api *API, scope Ref, options metav1.ListOptions, take func(item *T)) error {
	return api.pages(ctx, scope, options, func(data []byte) (string, error) {
		var page struct {
			metav1.ListMeta `json:"metadata"`
			Items           []T `json:"items"`
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return "", err
		}
		for _, item := range page.Items { // a copy, so that it does not keep the others
			take(&item)
		}
		return page.Continue, nil
	})
}

// pages requests a list page by page. take decodes a page, and returns the token of the next one, or "" to end the
// list.
func (a *API) pages(
	ctx context.Context, scope Ref, options metav1.ListOptions, take func(data []byte) (next string, err error),
) error {
	options.Limit = pager.New(nil).PageSize
	scope.Namespace = scope.namespace()
	resource, err := a.lister(scope)
	for more := true; more && err == nil; {
		var data []byte
		data, err = resource.page(ctx, options)
		if token := continuation(err); token != "" {
			options.Continue, err = token, nil
		} else if err == nil {
			options.Continue, err = take(data)
		}
		more = options.Continue != ""
	}
	return a.denied(ctx, scope, Wrap("list", scope, err), "list")
}

// continuation returns the token with which a list can be continued after its token has expired, or "". The rest of
// the list is then newer than its start
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks).
func continuation(err error) string {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok && apierrors.IsResourceExpired(err) {
		return status.ErrStatus.Continue
	}
	return ""
}

// Listing reads objects from lists, and requests the list of each kind once. It is for reads of many objects that
// need not be newer than the first of them.
type Listing struct {
	api       *API
	namespace string

	mu    sync.Mutex
	lists map[schema.GroupKind]*listed
}

type listed struct {
	objects map[string]*unstructured.Unstructured // by namespace/name
	err     error
}

// Listing returns a Listing of the objects of a namespace, or of all namespaces if it is "".
func (a *API) Listing(namespace string) *Listing {
	return &Listing{api: a, namespace: namespace, lists: map[schema.GroupKind]*listed{}}
}

// Get returns an object, or the error of the list of its kind.
func (l *Listing) Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	objects, err := l.All(ctx, ref.Kind)
	if err != nil {
		return nil, err
	}
	if obj, ok := objects[ref.Namespace+"/"+ref.Name]; ok {
		return obj, nil
	}
	resource := schema.GroupResource{Group: ref.Kind.Group, Resource: ref.Kind.Resource}
	return nil, Wrap("read", ref, apierrors.NewNotFound(resource, ref.Name))
}

// All returns the objects of a kind by namespace/name, which must not be modified.
func (l *Listing) All(ctx context.Context, of Kind) (map[string]*unstructured.Unstructured, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, ok := l.lists[of.GroupKind()]
	if !ok {
		list = &listed{objects: map[string]*unstructured.Unstructured{}}
		for obj, err := range l.api.List(ctx, Ref{Kind: of, Namespace: l.namespace}, "") {
			if list.err = err; err == nil {
				list.objects[obj.GetNamespace()+"/"+obj.GetName()] = obj
			}
		}
		l.lists[of.GroupKind()] = list
	}
	return list.objects, list.err
}
