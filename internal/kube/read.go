package kube

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Get returns one object, from the shared collection of its kind and namespace
// if the collection contains it. Any other object (without the label, or
// missing) is read individually, so that a NotFound is always a response of the
// server. Without permission to list, every object is read individually, as are
// objects of a kind that was not installed when it was listed.
func (s *Store) Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	return s.get(ctx, ref, (*Entry).Object)
}

// GetShared is Get with an object that callers share and must not modify. A version of it is decoded once.
func (s *Store) GetShared(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	return s.get(ctx, ref, decodeAs[unstructured.Unstructured])
}

func (s *Store) get(
	ctx context.Context, ref Ref, decode func(*Entry) (*unstructured.Unstructured, error),
) (obj *unstructured.Unstructured, err error) {
	err = s.discovery.atServedVersion(ctx, ref, func(ref Ref) error {
		col, err := s.ready(ctx, ref.Kind, ref.Namespace)
		if err != nil && ClassOf(err) != Denied && ClassOf(err) != KindMissing {
			return err
		}
		if e, ok := col.get(ref.key()); ok {
			obj, err = decode(e)
		} else {
			obj, err = s.api.Get(ctx, ref)
		}
		return err
	})
	return obj, err
}

// List returns the objects of a kind and namespace for which keep returns
// true (nil: all), in no order, from their shared list and watch. Objects that the
// selectors of the kind exclude are not included. With names, it looks them up in
// an index instead of calling keep with all objects, and includes only those that
// belong to one of the names: their own name or label kubetorch.com/service is that
// name, or their own name starts with it and "-" or ".".
func (s *Store) List(
	ctx context.Context, kind Kind, namespace string, keep func(*Entry) bool, names ...string,
) ([]*Entry, error) {
	namespace = Ref{Kind: kind, Namespace: namespace}.namespace()
	col, err := s.ready(ctx, kind, namespace)
	if err != nil {
		return nil, err
	}
	return col.filter(namespace, keep, names...), nil
}

// Subscribe notifies changed, which has a capacity of one, of each change of the
// watch of a kind and namespace, and of the objects for which about returns true
// (nil: all). It ends with cancel.
func (s *Store) Subscribe(
	kind Kind, namespace string, about func(*Entry) bool, changed chan<- struct{},
) (cancel func()) {
	return s.collection(kind, namespace).subscribe(about, changed)
}

// RefreshOld lists the objects of a kind and namespace again if their last list
// is [RelistTime] old, because the watch may be cut, or have lost events.
func (s *Store) RefreshOld(ctx context.Context, kind Kind, namespace string) {
	s.collection(kind, namespace).refreshOld(ctx)
}

// Watches reports whether the shared watch receives changes of ref.
func (s *Store) Watches(ref Ref) bool {
	_, known := s.collection(ref.Kind, ref.Namespace).get(ref.key())
	return known
}

// WatchesAll reports whether the shared watch of a kind and namespace works.
func (s *Store) WatchesAll(ctx context.Context, kind Kind, namespace string) bool {
	_, err := s.List(ctx, kind, namespace, func(*Entry) bool { return false })
	return err == nil
}

// SawDeletion reports whether the shared watch reported the deletion of the
// object with that UID, and no other object of its name exists.
func (s *Store) SawDeletion(ref Ref, uid types.UID) bool {
	return s.collection(ref.Kind, ref.Namespace).sawDeletion(ref.key(), uid)
}

// ListAs is [Store.List] with objects of the type T, which callers share
// and must not modify. The result is never nil without an error.
func ListAs[T any](
	ctx context.Context, s *Store, kind Kind, namespace string, keep func(*Entry) bool, names ...string,
) ([]*T, error) {
	entries, err := s.List(ctx, kind, namespace, keep, names...)
	if err != nil {
		return nil, err
	}
	out := make([]*T, 0, len(entries))
	for _, e := range entries {
		obj, err := decodeAs[T](e)
		if err != nil {
			return nil, err
		}
		out = append(out, obj)
	}
	return out, nil
}

// decodeAs decodes an entry once: each resource that waits reads all its objects
// again after every change in the namespace.
func decodeAs[T any](e *Entry) (*T, error) {
	if typed := e.typed.Load(); typed != nil {
		if obj, ok := (*typed).(*T); ok {
			return obj, nil
		}
	}
	obj := new(T)
	if err := json.Unmarshal(e.json, obj); err != nil {
		return nil, err
	}
	var typed any = obj
	e.typed.Store(&typed)
	return obj, nil
}

// As converts what a read returned to a typed object: pod, err := kube.As[corev1.Pod](c.Get(ctx, ref)).
func As[T any](obj *unstructured.Unstructured, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	typed := new(T)
	return typed, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, typed)
}
