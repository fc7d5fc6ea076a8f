package kube

import (
	"context"
	"encoding/json"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// openAPI is what counts of a server's OpenAPI v3 document of one group and version
// (https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3). Everybody may read it who may discover.
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

// HasField says whether the schema of a kind, as the server publishes it, has a field. A kind that has no schema, or an
// open one, has all fields. One request serves the whole run. An error means that it is not known.
func (c *Cluster) HasField(ctx context.Context, gvk schema.GroupVersionKind, path ...string) (bool, error) {
	if installed, err := c.Installed(ctx, Kind{GroupVersionKind: gvk}); err != nil || !installed {
		return true, err // it may still be installed, in a version that has it
	}
	document, err := recall(c, "schema "+gvk.GroupVersion().String(), func() (openAPI, error) {
		var document openAPI
		conn, err := c.connect()
		if err != nil {
			return document, err
		}
		data, err := conn.rest.Get().AbsPath("/openapi/v3/apis/"+gvk.GroupVersion().String()).SetHeader("Accept",
			"application/json").Do(ctx).Raw()
		switch {
		case apierrors.IsNotFound(err):
			return document, nil
		case err != nil:
			return document, err
		}
		return document, json.Unmarshal(data, &document)
	})
	if err != nil {
		return true, wrap("read the schema of", Ref{Kind: Kind{GroupVersionKind: gvk}}, err)
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
