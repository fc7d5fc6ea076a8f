package kube

import (
	"context"
	"maps"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// lister lists and watches the objects of one kind and namespace, or the metadata of objects that can contain secrets.
// Of their annotations, it keeps only those about the creation: kubectl apply stores the values of a Secret in one. All
// other metadata is complete, because readers and filters depend on it: the owners, and the managed fields, which
// contain the keys of a Secret without their values.
type lister struct {
	conn  *connection
	scope Ref
}

func (a *API) lister(scope Ref) (lister, error) {
	conn, err := a.connect()
	return lister{conn, scope}, err
}

// complete completes a request for the objects. forms are the accepted forms of their metadata.
func (l lister) complete(request *rest.Request, forms string, options metav1.ListOptions) *rest.Request {
	if !l.scope.Kind.MetadataOnly {
		forms = "application/json"
	}
	return request.SetHeader("Accept", forms).
		SpecificallyVersionedParams(&options, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"})
}

// List returns the objects.
func (l lister) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	data, err := l.page(ctx, options)
	if err != nil {
		return nil, err
	}
	return l.scope.decodeList(data)
}

// page requests a list, or a page of it.
func (l lister) page(ctx context.Context, options metav1.ListOptions) ([]byte, error) {
	request := l.scope.unnamed(l.conn.rest, http.MethodGet, l.scope.of(l.conn.rest.Get()))
	return bodyOf(l.complete(request, metadataOnlyList, options).Do(ctx))
}

// decodeList returns the objects of a list.
func (r Ref) decodeList(data []byte) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{}
	if err := r.decode(data, list); err != nil {
		return nil, err
	}
	if r.Kind.MetadataOnly {
		for i := range list.Items {
			list.Items[i] = *r.version(&list.Items[i])
		}
	}
	return list, nil
}

// Watch returns the objects as entries, and those with metadata only decoded.
func (l lister) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	w, err := l.complete(l.scope.of(l.conn.entries.Get()), metadataOnly, options).Watch(ctx)
	if err != nil || !l.scope.Kind.MetadataOnly {
		return w, err
	}
	return watch.Filter(w, func(event watch.Event) (watch.Event, bool) {
		entry, ok := event.Object.(*Entry)
		if !ok || event.Type == watch.Bookmark {
			return event, true // the Status of an error, or the end of the initial events, which is no object
		}
		object := &unstructured.Unstructured{}
		if err := l.scope.decode(entry.json, object); err != nil {
			status := apierrors.NewInternalError(err).Status()
			return watch.Event{Type: watch.Error, Object: &status}, true
		}
		event.Object = l.scope.version(object)
		return event, true
	}), nil
}

func (r Ref) version(object *unstructured.Unstructured) *unstructured.Unstructured {
	out := metadataOf(object, r.Kind.GroupVersionKind)
	kept := out.GetAnnotations()
	maps.DeleteFunc(kept, func(name, _ string) bool {
		return name != UnfinishedAnnotation && name != CreationAnnotation
	})
	out.SetAnnotations(kept)
	return out
}

// SecretMetadata returns the metadata of a Secret, of its annotations only those about its creation, from the shared
// list and watch of the metadata of all Secrets of the provider in its namespace. It returns nil for a Secret without
// the labels of the provider, and without permission to list Secrets.
func (s *Store) SecretMetadata(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	collection, err := s.ready(ctx, kind.SecretMetadata(), ref.Namespace)
	if err != nil && ClassOf(err) != Denied {
		return nil, err
	}
	if entry, ok := collection.get(ref.key()); ok { // never without permission
		return entry.Object()
	}
	return nil, nil
}
