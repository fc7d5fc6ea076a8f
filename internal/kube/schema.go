package kube

import (
	"context"
	"encoding/json"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
