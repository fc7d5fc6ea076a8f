package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// lister lists and watches the objects of one kind and namespace.
type lister interface {
	List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

func (c *Cluster) lister(scope Ref) (lister, error) {
	conn, err := c.connect()
	if err != nil {
		return nil, err
	}
	if !scope.Kind.MetadataOnly {
		objects, err := c.resource(scope)
		return objectsOf{objects, conn.entries, scope}, err
	}
	return versions{conn.metadata.Resource(scope.gvr()).Namespace(scope.Namespace), scope.Kind.GroupVersionKind}, nil
}

// objectsOf lists and watches complete objects.
type objectsOf struct {
	dynamic.ResourceInterface

	entries rest.Interface
	scope   Ref
}

// Watch returns the objects as entries.
func (o objectsOf) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	return o.scope.of(o.entries.Get()).
		SpecificallyVersionedParams(&options, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}).Watch(ctx)
}

// versions lists and watches the metadata of objects that can contain secrets. Of their annotations, it keeps only
// those about the creation: kubectl apply stores the values of a Secret in one. All other metadata is complete, because
// readers and filters depend on it: the owners, and the managed fields, which contain the keys of a Secret without
// their values.
type versions struct {
	objects metadata.ResourceInterface
	gvk     schema.GroupVersionKind
}

func (v versions) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list, err := v.objects.List(ctx, options)
	if err != nil {
		return nil, err
	}
	out := &unstructured.UnstructuredList{}
	out.SetResourceVersion(list.ResourceVersion)
	out.SetContinue(list.Continue)
	for i := range list.Items {
		version, err := v.version(&list.Items[i])
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, *version)
	}
	return out, nil
}

func (v versions) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := v.objects.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(event watch.Event) (watch.Event, bool) {
		object, ok := event.Object.(*metav1.PartialObjectMetadata)
		if !ok {
			return event, true // the Status of an error
		}
		version, err := v.version(object)
		if err != nil {
			status := apierrors.NewInternalError(err).Status()
			return watch.Event{Type: watch.Error, Object: &status}, true
		}
		if event.Type == watch.Bookmark {
			version.SetAnnotations(object.Annotations) // the end of the initial events, which is no object
		}
		event.Object = version
		return event, true
	}), nil
}

func (v versions) version(object *metav1.PartialObjectMetadata) (*unstructured.Unstructured, error) {
	kept := *object
	kept.SetGroupVersionKind(v.gvk)
	kept.Annotations = map[string]string{}
	for _, name := range []string{UnfinishedAnnotation, CreationAnnotation} {
		if id, marked := object.Annotations[name]; marked {
			kept.Annotations[name] = id
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&kept)
	return &unstructured.Unstructured{Object: content}, err
}

// ListedSecret returns the metadata of a Secret, of its annotations only those about its creation, from the shared list
// and watch of the metadata of all Secrets of the provider in its namespace. It returns nil for a Secret without
// the labels of the provider, and without permission to list Secrets.
func (c *Cluster) ListedSecret(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	collection, err := c.cache.ready(ctx, kind.SecretMetadata(), ref.Namespace)
	if err != nil {
		if ClassOf(err) == Denied {
			return nil, nil
		}
		return nil, err
	}
	entry, ok := collection.get(ref.key())
	if !ok {
		return nil, nil
	}
	return entry.Object()
}
