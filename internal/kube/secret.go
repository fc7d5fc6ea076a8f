package kube

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
)

// Secrets are read and written individually, without the shared collections, so
// that no value stays in memory longer than its request. Messages of the server
// may quote the object: its warnings, which client-go would log, are dropped
// (see send), and every value in its errors is masked (see maskError).

// SecretRef returns the reference of a Secret.
func SecretRef(namespace, name string) Ref {
	return Ref{Kind: kind.Secret(), Namespace: namespace, Name: name}
}

// Env returns the environment of the provider.
func (c *Cluster) Env() config.Env { return c.API.config.Env }

// SecretMetadata returns the metadata of one Secret with permission to write
// it, but not to read it: it is the response to an empty patch.
func (a *API) SecretMetadata(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	live, err := a.send(ctx, ref, request{
		method: http.MethodPatch, contentType: types.MergePatchType, body: []byte("{}"), metadataOnly: true,
		params: map[string]string{"dryRun": metav1.DryRunAll, "fieldManager": Manager},
	})
	if err != nil {
		return nil, a.denied(ctx, ref, Wrap("read", ref, err), "patch")
	}
	return metadataOf(live, ref.Kind.GroupVersionKind), nil
}

// metadataOf returns only the identity and the metadata of an object. The response to a request for its metadata has
// another kind, or all of the object if the server does not support such requests.
func metadataOf(obj *unstructured.Unstructured, gvk schema.GroupVersionKind) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"metadata": obj.Object["metadata"]}}
	out.SetGroupVersionKind(gvk)
	return out
}

// RemoveSecretKeys removes keys from the data of live. After a conflict with
// another client, or if the response to an earlier attempt was lost, it reads
// the Secret again. It does not change another Secret of the same name.
func (c *Cluster) RemoveSecretKeys(
	ctx context.Context, live *unstructured.Unstructured, keys []string,
) (*unstructured.Unstructured, error) {
	ref, uid := SecretRef(live.GetNamespace(), live.GetName()), live.GetUID()
	var conflict error
	replaced := false
	err := retry.RetryOnConflict(conflictBackoff(), func() error {
		if conflict != nil {
			now, err := c.API.Get(ctx, ref)
			if err != nil {
				return err
			}
			if replaced = now.GetUID() != uid; replaced {
				return nil
			}
			if live = now; !hasAnyKey(live, keys) {
				return nil
			}
		}
		after, err := c.API.removeSecretKeys(ctx, ref, live, keys)
		if conflict = err; err == nil {
			live = after
		}
		return err
	})
	switch {
	case replaced, ClassOf(err) == Denied && conflict != nil: // the state of the Secret is unknown
		return nil, conflict
	case err != nil:
		return nil, err
	}
	return live, nil
}

func (a *API) removeSecretKeys(
	ctx context.Context, ref Ref, live *unstructured.Unstructured, keys []string,
) (*unstructured.Unstructured, error) {
	data := map[string]any{}
	for _, key := range keys {
		data[key] = nil // a null removes (RFC 7386)
	}
	body, _ := json.Marshal(map[string]any{ // texts cannot fail
		"metadata": map[string]any{"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion()},
		"data":     data,
	})
	after, err := a.write(ctx, "apply", ref, request{
		method: http.MethodPatch, contentType: types.MergePatchType, params: map[string]string{"fieldManager": Manager},
		body: body,
	})
	return after, a.maskError(ctx, ref, err, live, "patch")
}

// hasAnyKey reports whether the data of a Secret has one of the keys.
func hasAnyKey(live *unstructured.Unstructured, keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		_, there, _ := unstructured.NestedFieldNoCopy(live.Object, "data", key)
		return there
	})
}

// maskError is denied for a write. In the error of a Secret, it masks the values of
// sent and of the cluster. If the latter are unknown, the text is removed.
func (a *API) maskError(
	ctx context.Context, ref Ref, err error, sent *unstructured.Unstructured, verbs ...string,
) error {
	err = a.denied(ctx, ref, err, verbs...)
	var status apierrors.APIStatus
	if !ref.isSecret() || !errors.As(err, &status) || ClassOf(err) == Denied || ClassOf(err) == NotFound {
		return err // errors of network, authorizer and storage contain no values
	}
	live, readErr := a.send(ctx, ref, request{method: http.MethodGet})
	if readErr != nil && !apierrors.IsNotFound(readErr) {
		return mapMessages(err, func(string) string { return hiddenMessage })
	}
	values := slices.Concat(SecretValues(sent), SecretValues(live))
	return mapMessages(err, NewMasker(values).Mask)
}

// SecretValues returns the values in the data of a Secret.
func SecretValues(obj *unstructured.Unstructured) [][]byte {
	return slices.Collect(maps.Values(SecretData(obj)))
}

// SecretData returns the decoded data of a Secret, or an empty map.
func SecretData(obj *unstructured.Unstructured) map[string][]byte {
	data := map[string][]byte{}
	if obj == nil {
		return data
	}
	fields, _, _ := unstructured.NestedMap(obj.Object, "data")
	for key, field := range fields {
		text, _ := field.(string)
		value, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			value = []byte(text)
		}
		data[key] = value
	}
	return data
}

// hiddenMessage replaces a message that may quote unknown values.
const hiddenMessage = "the message is not shown, because it may quote values of the Secret, and there is no " +
	"permission to read them"

// mapMessages applies change to every message of an error from a server.
func mapMessages(err error, change func(string) string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	fields := slices.Clone(e.Fields)
	for i := range fields {
		fields[i].Message = change(fields[i].Message)
	}
	out := *e
	out.Fields = fields
	var status apierrors.APIStatus
	if errors.As(e.Err, &status) {
		same := func(field string) string { return field }
		out.Err = &apierrors.StatusError{ErrStatus: mapTexts(status.Status(), change, same)}
	}
	return &out
}
