package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// RefOf names obj. A kind that the provider has no table row for is looked up in
// the server's discovery of that one group and version, once a run; one that the
// server does not serve is an *Error of the class KindMissing.
func (c *Cluster) RefOf(ctx context.Context, obj *unstructured.Unstructured) (Ref, error) {
	if ref, err := RefOf(obj); err == nil {
		return ref, nil
	}
	gvk := obj.GroupVersionKind()
	ref := Ref{Kind: Kind{GroupVersionKind: gvk, LabelSelector: kind.Ours}, Namespace: obj.GetNamespace(), Name: obj.GetName()}
	resources, err := c.served(ctx, gvk.GroupVersion(), gvk.Kind)
	if err != nil {
		return ref, wrap("look up", ref, err)
	}
	found, ok := resources[gvk.Kind]
	if !ok {
		return ref, &Error{
			Op: "look up", Object: ref.String(), Kind: ref.Kind, Class: KindMissing,
			Err: fmt.Errorf("the server does not serve %s of %s", gvk.Kind, gvk.GroupVersion()),
		}
	}
	ref.Kind.Resource, ref.Kind.ClusterScoped = found.Name, !found.Namespaced
	if ref.Kind.ClusterScoped {
		ref.Namespace = ""
	}
	return ref, nil
}

// LiveRef is RefOf for an object that is read or deleted: at another version where
// the server no longer serves the one of obj.
func (c *Cluster) LiveRef(ctx context.Context, obj *unstructured.Unstructured) (Ref, error) {
	ref, err := c.RefOf(ctx, obj)
	if ClassOf(err) != KindMissing {
		return ref, err
	}
	if other, found := c.servedVersion(ctx, ref); found {
		return other, nil
	}
	return ref, err
}

// Installed says whether the server serves a kind: whether the CRD of an
// operator's is there. One question serves the whole run, except where it is not
// there: an earlier step of the same apply may install it. An error means that it
// is not known.
func (c *Cluster) Installed(ctx context.Context, kind Kind) (bool, error) {
	resources, err := c.served(ctx, kind.GroupVersion(), kind.Kind)
	if err != nil {
		return false, wrap("look up", Ref{Kind: kind}, err)
	}
	_, ok := resources[kind.Kind]
	return ok, nil
}

// missingTime is how long it is believed that a kind is not served. It saves a
// plan of many resources from asking for each.
const missingTime = 3 * time.Second

// served returns the resources of one group and version by kind; none where the
// server does not serve it. An answer without the kind that is looked for holds for
// missingTime.
func (c *Cluster) served(ctx context.Context, gv schema.GroupVersion, kind string) (map[string]metav1.APIResource, error) {
	holds := func(resources map[string]metav1.APIResource, age time.Duration) bool {
		_, there := resources[kind]
		return there || age < missingTime
	}
	return recallWhile(c, "served "+gv.String(), holds, func() (map[string]metav1.APIResource, error) {
		var list metav1.APIResourceList
		found, err := c.discover(ctx, gv.String(), &list)
		if err != nil || !found {
			return nil, err
		}
		resources := map[string]metav1.APIResource{}
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") { // a subresource
				resources[resource.Kind] = resource
			}
		}
		return resources, nil
	})
}

// preferred returns the version of a group that the server prefers; "" where it
// does not serve the group, which is asked anew each time: an operator may be
// installed during a wait.
func (c *Cluster) preferred(ctx context.Context, group string) (string, error) {
	version, err := recall(c, "preferred "+group, func() (string, error) {
		var answer metav1.APIGroup
		found, err := c.discover(ctx, group, &answer)
		if err == nil && !found {
			err = errNotServed
		}
		return answer.PreferredVersion.Version, err
	})
	if errors.Is(err, errNotServed) {
		return "", nil
	}
	return version, err
}

// atServedVersion calls do with ref, and once more, with a version that the
// server does serve, where it no longer serves the one of ref: state outlives the
// versions of a kind. Other errors of looking for one are not told: the first says
// what is wrong.
func (c *Cluster) atServedVersion(ctx context.Context, ref Ref, do func(Ref) error) error {
	err := do(ref)
	if ClassOf(err) != KindMissing || alwaysServed(ref.Kind) {
		return err
	}
	if other, found := c.servedVersion(ctx, ref); found {
		return do(other)
	}
	return err
}

// servedVersion names the object of ref at a version that the server serves, the
// preferred one first.
func (c *Cluster) servedVersion(ctx context.Context, ref Ref) (Ref, bool) {
	group, err := recall(c, "versions "+ref.Kind.Group, func() (metav1.APIGroup, error) {
		var answer metav1.APIGroup
		found, err := c.discover(ctx, ref.Kind.Group, &answer)
		if err == nil && !found {
			err = errNotServed
		}
		return answer, err
	})
	if err != nil {
		return ref, false
	}
	for _, version := range append([]metav1.GroupVersionForDiscovery{group.PreferredVersion}, group.Versions...) {
		gv := schema.GroupVersion{Group: ref.Kind.Group, Version: version.Version}
		if gv.Version == "" || gv.Version == ref.Kind.Version {
			continue
		}
		resources, err := c.served(ctx, gv, ref.Kind.Kind)
		if found, ok := resources[ref.Kind.Kind]; err == nil && ok {
			ref.Kind.Version, ref.Kind.Resource = gv.Version, found.Name
			return ref, true
		}
	}
	return ref, false
}

var errNotServed = errors.New("the group is not served")

// discover reads a discovery document. What is not served is no error.
func (c *Cluster) discover(ctx context.Context, path string, into any) (found bool, err error) {
	conn, err := c.connect()
	if err != nil {
		return false, err
	}
	root := "/apis/"
	if !strings.Contains(path, ".") && strings.HasPrefix(path, "v") {
		root = "/api/" // the core group
	}
	data, err := conn.document(ctx, root+path)
	switch {
	case apierrors.IsNotFound(err):
		// What was missing before in this run is believed to be so still.
		_, err := recall(c, "missing "+root+path, func() (bool, error) { return true, conn.confirmMissing(ctx, root+path) })
		return false, err
	case err != nil:
		return false, err
	}
	return true, json.Unmarshal(data, into)
}

func (c *connection) document(ctx context.Context, path string) ([]byte, error) {
	return c.rest.Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw() // unlike DoRaw, it keeps the server's reason
}

// confirmMissing returns an error unless the server's list of groups, which it
// always serves, lacks what was answered with 404. The API server says so of an
// unknown group in plain text, like any gateway that has no backend at the moment.
func (c *connection) confirmMissing(ctx context.Context, path string) error {
	unconfirmed := apierrors.NewServiceUnavailable("GET " + path + " was answered with 404 Not Found, which the list of API groups at /apis/ does not confirm")
	name, isGroup := strings.CutPrefix(path, "/apis/")
	if !isGroup || name == "" {
		return unconfirmed // it is always served
	}
	data, err := c.document(ctx, "/apis/")
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	var list metav1.APIGroupList
	if err != nil || json.Unmarshal(data, &list) != nil || list.Kind != "APIGroupList" {
		return unconfirmed
	}
	for _, group := range list.Groups {
		for _, version := range group.Versions {
			if name == group.Name || name == group.Name+"/"+version.Version {
				return unconfirmed
			}
		}
	}
	return nil
}

// outage says whether the server could not answer a question.
func outage(err error) bool {
	if err == nil {
		return false
	}
	class, _ := classify(Ref{}, err)
	return class == Unreachable
}

// retryAfter is how long a server that did not answer is not asked again.
const retryAfter = 10 * time.Second

// answer is what is kept of a question for the whole run.
type answer[T any] struct {
	mu    sync.Mutex
	known bool
	value T

	failed error // of the last question
	since  time.Time
	at     time.Time // when it was answered, by the cluster's clock
}

// recall asks once, however many ask at the same time. A question that failed is
// asked again after a while: a thousand computes must not wait a thousand times
// for a server that does not answer.
func recall[T any](c *Cluster, key string, ask func() (T, error)) (T, error) {
	return recallWhile(c, key, func(T, time.Duration) bool { return true }, ask)
}

// recallWhile is recall for answers that hold only while holds says so of one and
// its age.
func recallWhile[T any](c *Cluster, key string, holds func(value T, age time.Duration) bool, ask func() (T, error)) (T, error) {
	stored, _ := c.memo.LoadOrStore(key, &answer[T]{})
	a := stored.(*answer[T]) //nolint:forcetypeassert,errcheck // each key has one type
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known && holds(a.value, c.clock.Since(a.at)) {
		return a.value, nil
	}
	if outage(a.failed) && time.Since(a.since) < retryAfter {
		return a.value, a.failed
	}
	value, err := ask()
	if a.failed, a.since = err, time.Now(); err == nil {
		a.known, a.value, a.at = true, value, c.clock.Now()
	}
	return value, err
}
