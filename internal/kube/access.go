package kube

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	authorization "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// denied distinguishes missing permission from a rejection by admission. Both
// are 403 Forbidden with the same details, so the permission is checked on the
// server
// (https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access).
// The request needs the permission for all verbs, except that an apply (patch and
// create) of an existing object does not create. The resource of the kind of ref
// may have a subresource.
func (a *API) denied(ctx context.Context, ref Ref, err error, verbs ...string) error {
	e, ok := err.(*Error) //nolint:errorlint // created by Wrap above
	if ok {
		e.explained = &a.outages
	}
	if !ok || e.Class != Refused || !apierrors.IsForbidden(e.Err) {
		return err
	}
	if slices.Contains([]string{"get", "list", "watch"}, verbs[0]) || isAnonymous(e.Err) { // no admission of reads
		e.Class = Denied
		return e
	}
	for i, verb := range verbs {
		if a.lacksPermission(ctx, verb, ref) && !(i > 0 && verb == "create" && a.exists(ctx, ref)) {
			e.Class = Denied
		}
	}
	return e
}

// isAnonymous reports whether the server denied a request that had no credentials. It lets such a user ask for nothing.
func isAnonymous(err error) bool { return strings.Contains(err.Error(), `"system:anonymous" cannot`) }

// exists reports whether the server is known to have an object.
func (a *API) exists(ctx context.Context, ref Ref) bool {
	found, err := a.Exists(ctx, ref)
	return err == nil && found
}

// lacksPermission reports whether the server says that the permission is missing.
func (a *API) lacksPermission(ctx context.Context, verb string, ref Ref) bool {
	conn, err := a.connect()
	if err != nil {
		return false
	}
	resource, subresource, _ := strings.Cut(ref.Kind.Resource, "/")
	review := authorization.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
		Spec: authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorization.ResourceAttributes{
			Namespace: ref.Namespace, Name: ref.Name, Verb: verb,
			Group: ref.Kind.Group, Version: ref.Kind.Version, Resource: resource, Subresource: subresource,
		}},
	}
	body, _ := json.Marshal(review) // texts cannot fail
	response, err := conn.rest.Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").
		SetHeader("Accept", "application/json").SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Raw()
	if err != nil {
		return false
	}
	review.Status.Allowed = true // unknown if it is not in the response
	return json.Unmarshal(response, &review) == nil && !review.Status.Allowed
}
