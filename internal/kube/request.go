package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/ktdev/terraform-provider-kt/internal/kube/transport"
)

// request is a request for one object.
type request struct {
	method      string
	subresource string
	params      map[string]string
	body        []byte
	contentType types.PatchType // of the body, JSON by default
	// metadataOnly requests the object without its spec, status and data, if the server supports it. The server need
	// not warn about them.
	metadataOnly bool
}

// The headers of such a request, and of that for a list
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches).
const (
	metadataOnly     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"
	metadataOnlyList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json"
)

// send sends a request for the object of ref, and returns the response, or nil to a deletion. It returns the errors of
// client-go. The server may quote a Secret in warnings, which client-go would log: they are dropped.
func (a *API) send(ctx context.Context, ref Ref, r request) (*unstructured.Unstructured, error) {
	conn, err := a.connect()
	if err != nil {
		return nil, err
	}
	to := ref.at(conn.rest.Verb(r.method))
	if r.metadataOnly || ref.isSecret() {
		to = to.WarningHandler(rest.NoWarnings{})
	} else {
		to = ref.unnamed(conn.rest, r.method, to)
	}
	to = to.SubResource(r.subresource).SetHeader("Accept", "application/json")
	if r.metadataOnly {
		to = to.SetHeader("Accept", metadataOnly)
	}
	for name, value := range r.params {
		to = to.Param(name, value)
	}
	if r.body != nil {
		to = to.SetHeader("Content-Type", cmp.Or(string(r.contentType), "application/json")).Body(r.body)
	}
	response, err := bodyOf(to.Do(ctx))
	if err != nil || r.method == http.MethodDelete {
		return nil, err // a Status, or the object if it has a finalizer
	}
	live := &unstructured.Unstructured{}
	if err := ref.decode(response, live); err != nil {
		return nil, err
	}
	return live, nil
}

// write sends a request that changes the object, and returns its error with the operation and the outcome.
func (a *API) write(ctx context.Context, op string, ref Ref, r request) (*unstructured.Unstructured, error) {
	ctx, sent := transport.WithOutcome(ctx)
	live, err := a.send(ctx, ref, r)
	err = Wrap(op, ref, err)
	if e, ok := errors.AsType[*Error](err); ok {
		e.OutcomeUnknown = sent.Unknown()
	}
	return live, err
}

// decode decodes what the server has sent about an object or a list. The errors of the decoder quote it, and are
// replaced if it can contain a Secret.
func (r Ref) decode(data []byte, into json.Unmarshaler) error {
	err := into.UnmarshalJSON(data)
	if err != nil && r.isSecret() {
		return errors.New("the response of the server is not a Secret")
	}
	return err
}

// bodyOf returns the body of a response, or an error with the Status of the server, which Raw does not decode.
func bodyOf(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}
