package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Discovery knows the kinds that the server serves, from its discovery documents, and the fields of custom ones.
type Discovery struct {
	api         *API
	keepMissing atomic.Bool // see KeepMissing
}

// KeepMissing states that this run installs nothing, so that a missing kind stays missing.
func (d *Discovery) KeepMissing() { d.keepMissing.Store(true) }

// RefOf returns the reference of obj. A kind without a row in the table is
// resolved by discovery of its group and version, once per run. If the server
// does not serve it, the error is an *Error of the class KindMissing.
func (d *Discovery) RefOf(ctx context.Context, obj *unstructured.Unstructured) (Ref, error) {
	if ref, err := RefOf(obj); err == nil {
		return ref, nil
	}
	gvk := obj.GroupVersionKind()
	ref := Ref{Kind: Kind{GroupVersionKind: gvk, LabelSelector: kind.Ours}, Namespace: obj.GetNamespace(),
		Name: obj.GetName()}
	resources, err := d.served(ctx, gvk.GroupVersion(), gvk.Kind)
	if err != nil {
		return ref, Wrap("look up", ref, err)
	}
	found, ok := resources[gvk.Kind]
	if !ok {
		return ref, &Error{
			Op: "look up", Ref: ref, Class: KindMissing,
			Err: fmt.Errorf("the server does not serve %s of %s", gvk.Kind, gvk.GroupVersion()),
		}
	}
	ref.Kind.Resource, ref.Kind.ClusterScoped = found.Name, !found.Namespaced
	ref.Namespace = ref.namespace()
	return ref, nil
}

// LiveRef is RefOf for an object to be read or deleted. It uses another version
// if the server no longer serves the version of obj.
func (d *Discovery) LiveRef(ctx context.Context, obj *unstructured.Unstructured) (Ref, error) {
	ref, err := d.RefOf(ctx, obj)
	if ClassOf(err) != KindMissing {
		return ref, err
	}
	if other, found := d.servedVersion(ctx, ref); found {
		return other, nil
	}
	return ref, err
}

// Installed reports whether the server serves a kind, which requires the CRD of
// its operator. The result is kept for the complete run, unless the kind is
// missing: an earlier step of the same apply may install it. An error means
// that the result is unknown.
func (d *Discovery) Installed(ctx context.Context, kind Kind) (bool, error) {
	resources, err := d.served(ctx, kind.GroupVersion(), kind.Kind)
	if err != nil {
		return false, Wrap("look up", Ref{Kind: kind}, err)
	}
	_, ok := resources[kind.Kind]
	return ok, nil
}

// missingTime is the validity of the result that a kind is not served, except in
// a plan. It avoids one request for each resource of an apply.
const missingTime = 3 * time.Second

// stillMissing reports whether the result that a kind is not served is still valid.
func (d *Discovery) stillMissing(age time.Duration) bool {
	return d.keepMissing.Load() || age < missingTime
}

// served returns the resources of one group and version by kind. It returns
// none if the server does not serve it. A result without the requested kind is
// valid as long as stillMissing.
func (d *Discovery) served(
	ctx context.Context, gv schema.GroupVersion, kind string,
) (map[string]metav1.APIResource, error) {
	valid := func(resources map[string]metav1.APIResource, age time.Duration) bool {
		_, there := resources[kind]
		return there || d.stillMissing(age)
	}
	return recallWhile(d.api, "served "+gv.String(), valid, func() (map[string]metav1.APIResource, error) {
		var list metav1.APIResourceList
		found, err := d.discover(ctx, gv.String(), &list)
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

// Preferred returns the preferred version of a group, or "" if the server does
// not serve the group.
func (d *Discovery) Preferred(ctx context.Context, group string) (string, error) {
	served, err := d.group(ctx, group)
	return served.PreferredVersion.Version, err
}

// group returns the served versions of a group. A missing group is requested again each time, because an operator
// may be installed during a wait.
func (d *Discovery) group(ctx context.Context, name string) (metav1.APIGroup, error) {
	served := func(group metav1.APIGroup, _ time.Duration) bool { return group.PreferredVersion.Version != "" }
	return recallWhile(d.api, "group "+name, served, func() (group metav1.APIGroup, err error) {
		_, err = d.discover(ctx, name, &group)
		return group, err
	})
}

// atServedVersion calls do with ref. If the server no longer serves the version
// of ref, it calls do again with a served version: state outlives the versions
// of a kind. Other discovery errors are dropped in favor of the first error.
func (d *Discovery) atServedVersion(ctx context.Context, ref Ref, do func(Ref) error) error {
	err := do(ref)
	if ClassOf(err) != KindMissing || alwaysServed(ref.Kind) {
		return err
	}
	if other, found := d.servedVersion(ctx, ref); found {
		return do(other)
	}
	return err
}

// servedVersion returns ref with a version that the server serves, the
// preferred one first.
func (d *Discovery) servedVersion(ctx context.Context, ref Ref) (Ref, bool) {
	group, err := d.group(ctx, ref.Kind.Group)
	if err != nil {
		return Ref{}, false
	}
	for _, version := range append([]metav1.GroupVersionForDiscovery{group.PreferredVersion}, group.Versions...) {
		gv := schema.GroupVersion{Group: ref.Kind.Group, Version: version.Version}
		if gv.Version == "" || gv.Version == ref.Kind.Version {
			continue
		}
		resources, err := d.served(ctx, gv, ref.Kind.Kind)
		if found, ok := resources[ref.Kind.Kind]; err == nil && ok {
			ref.Kind.Version, ref.Kind.Resource = gv.Version, found.Name
			return ref, true
		}
	}
	return Ref{}, false
}

// discover reads a discovery document. A document that is not served is not an
// error.
func (d *Discovery) discover(ctx context.Context, path string, into any) (found bool, err error) {
	conn, err := d.api.connect()
	if err != nil {
		return false, err
	}
	segments := strings.Split(path, "/") // can be foreign text
	invalid := func(segment string) bool { return len(rest.IsValidPathSegmentName(segment)) > 0 }
	if len(segments) > 2 || slices.ContainsFunc(segments, invalid) {
		return false, fmt.Errorf("%q is not an API group and version", path)
	}
	root := "/apis/"
	if !strings.Contains(path, ".") && strings.HasPrefix(path, "v") {
		root = "/api/" // the core group
	}
	data, err := conn.document(ctx, root+path)
	switch {
	case apierrors.IsNotFound(err):
		// A document that was missing before in this run is still treated as missing.
		_, err := Recall(d.api, "missing "+root+path,
			func() (bool, error) { return true, conn.confirmMissing(ctx, root+path) })
		return false, err
	case err != nil:
		return false, err
	}
	return true, json.Unmarshal(data, into)
}

// confirmMissing returns an error unless the path of a 404 response is also
// missing in the list of groups, which the server always serves. The API server
// responds to an unknown group in plain text, like a gateway without a backend.
func (c *connection) confirmMissing(ctx context.Context, path string) error {
	unconfirmed := apierrors.NewServiceUnavailable("GET " + path +
		" returned 404 Not Found, which the list of API groups at /apis/ does not confirm")
	name, isGroup := strings.CutPrefix(path, "/apis/")
	if !isGroup || name == "" {
		return unconfirmed // always served
	}
	data, err := c.document(ctx, "/apis/")
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	var list metav1.APIGroupList
	if err != nil || json.Unmarshal(data, &list) != nil {
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

// CustomKinds returns the namespaced kinds that are not part of Kubernetes and
// whose objects can be read, each in the preferred version of the server. A
// group whose discovery fails is skipped.
func (d *Discovery) CustomKinds(ctx context.Context) ([]Kind, error) {
	var groups metav1.APIGroupList
	if _, err := d.discover(ctx, "", &groups); err != nil {
		return nil, Wrap("look up", Ref{}, err)
	}
	var kinds []Kind
	for _, group := range groups.Groups {
		if isKubernetes(group.Name) {
			continue
		}
		gv := schema.GroupVersion{Group: group.Name, Version: group.PreferredVersion.Version}
		resources, _ := d.served(ctx, gv, "") // none after a failure
		for _, resource := range resources {
			if resource.Namespaced && slices.Contains(resource.Verbs, "get") {
				kinds = append(kinds, Kind{GroupVersionKind: gv.WithKind(resource.Kind), Resource: resource.Name,
					LabelSelector: kind.Ours})
			}
		}
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return cmp.Compare(a.GroupKind().String(), b.GroupKind().String()) })
	return kinds, nil
}

// isKubernetes reports whether an API group is part of Kubernetes: it has no
// dot, or ends with .k8s.io
// (https://kubernetes.io/docs/reference/using-api/deprecation-policy/). Those of
// subprojects end with .x-k8s.io.
func isKubernetes(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// openAPI contains the relevant fields of the OpenAPI v3 document of one group
// and version
// (https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3). It
// requires only discovery permission.
type openAPI struct {
	Components struct {
		Schemas map[string]property `json:"schemas"`
	} `json:"components"`
}

type property struct {
	Kinds      []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
	Properties map[string]property       `json:"properties"`
	Open       bool                      `json:"x-kubernetes-preserve-unknown-fields"`
}

// HasField reports whether the published schema of a kind has a field. A kind
// without a schema, or with an open one, has all fields. The result is kept for
// the complete run. An error means that the result is unknown.
func (d *Discovery) HasField(ctx context.Context, gvk schema.GroupVersionKind, path ...string) (bool, error) {
	if installed, err := d.Installed(ctx, Kind{GroupVersionKind: gvk}); err != nil || !installed {
		return true, err // a version with the field may still be installed
	}
	document, err := Recall(d.api, "schema "+gvk.GroupVersion().String(), func() (openAPI, error) {
		var document openAPI
		conn, err := d.api.connect()
		if err != nil {
			return document, err
		}
		data, err := conn.document(ctx, "/openapi/v3/apis/"+gvk.GroupVersion().String())
		switch {
		case apierrors.IsNotFound(err):
			return document, nil
		case err != nil:
			return document, err
		}
		return document, json.Unmarshal(data, &document)
	})
	if err != nil {
		return true, Wrap("read the schema of", Ref{Kind: Kind{GroupVersionKind: gvk}}, err)
	}
	for _, of := range document.Components.Schemas {
		if slices.Contains(of.Kinds, gvk) {
			return of.has(path), nil
		}
	}
	return true, nil
}

func (p property) has(path []string) bool {
	if len(path) == 0 || p.Open || len(p.Properties) == 0 {
		return true
	}
	next, ok := p.Properties[path[0]]
	return ok && next.has(path[1:])
}
