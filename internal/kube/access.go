package kube

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// denied distinguishes missing permission from a rejection by admission. Both
// are 403 Forbidden with the same details, so the permission is checked on the
// server
// (https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access).
func (c *Cluster) denied(ctx context.Context, verb string, ref Ref, err error) error {
	verbs := []string{verb}
	if verb == "patch" {
		verbs = append(verbs, "create") // server-side apply of a new object needs both
	}
	return c.deniedTo(ctx, verbs, ref, err)
}

// deniedTo is denied for a request that needs the permission for all verbs. The resource of the kind of ref may have a
// subresource.
func (c *Cluster) deniedTo(ctx context.Context, verbs []string, ref Ref, err error) error {
	e, ok := err.(*Error) //nolint:errorlint // created by Wrap above
	if ok {
		e.explained = &c.outages
	}
	if !ok || e.Class != Refused || !apierrors.IsForbidden(e.Err) {
		return err
	}
	if verb := verbs[0]; verb == "get" || verb == "list" || verb == "watch" { // admission does not apply to reads
		e.Class = Denied
		return e
	}
	for _, verb := range verbs {
		if c.lacksPermission(ctx, verb, ref) {
			e.Class = Denied
		}
	}
	return e
}

// lacksPermission reports whether the server says that the permission is missing.
func (c *Cluster) lacksPermission(ctx context.Context, verb string, ref Ref) bool {
	conn, err := c.connect()
	if err != nil {
		return false
	}
	resource, subresource, _ := strings.Cut(ref.Kind.Resource, "/")
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1",
		"kind":       "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{
			"namespace": ref.Namespace, "name": ref.Name, "verb": verb,
			"group": ref.Kind.Group, "version": ref.Kind.Version, "resource": resource,
			"subresource": subresource,
		}},
	}}
	gvr := schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1",
		Resource: "selfsubjectaccessreviews"}
	response, err := conn.dynamic.Resource(gvr).Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false
	}
	allowed, found, _ := unstructured.NestedBool(response.Object, "status", "allowed")
	return found && !allowed
}
