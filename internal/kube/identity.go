package kube

import (
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Identity identifies a cluster.
type Identity struct {
	// UID is the UID of the namespace kube-system, which every cluster has and
	// which cannot be deleted. It is commonly used as a cluster ID, which
	// Kubernetes does not have
	// (https://opentelemetry.io/docs/specs/semconv/resource/k8s/#cluster).
	UID types.UID `json:"uid,omitempty"`
	// Namespace is the UID of the namespace of the resource. It is empty if UID is not.
	Namespace types.UID `json:"namespace,omitempty"`
	// Server is the address of the API server, which may change.
	Server string `json:"server"`
}

// Identity returns the identity of the cluster, for a resource in a namespace or "". It has no UIDs without permission
// to read them, and is empty if the server does not respond. Each UID is requested once per run.
func (c *Cluster) Identity(ctx context.Context, namespace string) Identity {
	uid, err := c.API.namespaceUID(ctx, metav1.NamespaceSystem)
	conn, unconnected := c.API.connect()
	if err != nil || unconnected != nil {
		return Identity{}
	}
	identity := Identity{UID: uid, Server: conn.server}
	if uid == "" && namespace != "" {
		identity.Namespace, _ = c.API.namespaceUID(ctx, namespace) // unknown is as without permission
	}
	return identity
}

// namespaceUID returns the UID of a namespace, or "" without permission to read it.
func (a *API) namespaceUID(ctx context.Context, name string) (types.UID, error) {
	return Recall(a, "UID of namespace "+name, func() (types.UID, error) {
		ref := Ref{Kind: kind.Namespace(), Name: name}
		namespace, err := a.send(ctx, ref, request{method: http.MethodGet, metadataOnly: true})
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			return "", nil // another request would have the same result
		case err != nil:
			return "", err
		}
		return namespace.GetUID(), nil
	})
}

// KindRemoved reports whether the server serves no version of a kind, as after
// the deletion of its CRD, which also deletes all objects of the kind. It
// returns false if this cannot be determined. The result is valid as long as
// stillMissing, because an earlier step of the same apply may install the CRD again.
func (d *Discovery) KindRemoved(ctx context.Context, kind Kind) bool {
	if alwaysServed(kind) {
		return false
	}
	valid := func(_ bool, age time.Duration) bool { return d.stillMissing(age) }
	removed, err := recallWhile(d.api, "removed "+kind.GroupKind().String(), valid, func() (bool, error) {
		var group metav1.APIGroup
		if _, err := d.discover(ctx, kind.Group, &group); err != nil {
			return false, err
		}
		for _, version := range group.Versions {
			resources, err := d.served(ctx, schema.GroupVersion{Group: kind.Group, Version: version.Version}, kind.Kind)
			if _, served := resources[kind.Kind]; served || err != nil {
				return false, err
			}
		}
		return true, nil
	})
	return removed && err == nil
}
