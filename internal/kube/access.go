package kube

import (
	"context"

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
	e, ok := err.(*Error) //nolint:errorlint // created by Wrap above
	if ok {
		e.explained = &c.outages
	}
	if !ok || e.Class != Refused || !apierrors.IsForbidden(e.Err) {
		return err
	}
	if verb == "get" || verb == "list" || verb == "watch" { // admission does not apply to reads
		e.Class = Denied
		return e
	}
	verbs := []string{verb}
	if verb == "patch" {
		verbs = append(verbs, "create") // server-side apply of a new object needs both
	}
	for _, verb := range verbs {
		if allowed, known := c.allowed(ctx, verb, ref); known && !allowed {
			e.Class = Denied
		}
	}
	return e
}

func (c *Cluster) allowed(ctx context.Context, verb string, ref Ref) (allowed, known bool) {
	conn, err := c.connect()
	if err != nil {
		return false, false
	}
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1",
		"kind":       "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{
			"namespace": ref.Namespace, "name": ref.Name, "verb": verb,
			"group": ref.Kind.Group, "version": ref.Kind.Version, "resource": ref.Kind.Resource,
		}},
	}}
	gvr := schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1",
		Resource: "selfsubjectaccessreviews"}
	response, err := conn.dynamic.Resource(gvr).Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, false
	}
	allowed, found, err := unstructured.NestedBool(response.Object, "status", "allowed")
	return allowed, found && err == nil
}
