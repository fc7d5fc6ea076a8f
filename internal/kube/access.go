package kube

import (
	"context"
	"encoding/json"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	review, _ := json.Marshal(map[string]any{ // texts cannot fail
		"apiVersion": "authorization.k8s.io/v1",
		"kind":       "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{
			"namespace": ref.Namespace, "name": ref.Name, "verb": verb,
			"group": ref.Kind.Group, "version": ref.Kind.Version, "resource": resource,
			"subresource": subresource,
		}},
	})
	response, err := conn.rest.Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").
		SetHeader("Accept", "application/json").SetHeader("Content-Type", "application/json").Body(review).Do(ctx).Raw()
	if err != nil {
		return false
	}
	var answer struct {
		Status struct {
			Allowed *bool `json:"allowed"`
		} `json:"status"`
	}
	_ = json.Unmarshal(response, &answer) // unknown if it is not valid
	return answer.Status.Allowed != nil && !*answer.Status.Allowed
}
