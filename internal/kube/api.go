package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/transport"
)

// API sends single requests to the API server of a cluster. Its reads return the current state. It connects on first
// use.
type API struct {
	config  config.Config
	connect func() (*connection, error)
	clock   clock.WithDelayedExecution
	limits  transport.Limits
	outages sync.Map // see Error.explained
	memo    sync.Map // see Recall
}

type connection struct {
	rest      rest.Interface
	entries   rest.Interface // for watches
	namespace string
	server    string // its address
	hide      func(text string) string
}

func dial(settings config.Config, clock clock.WithDelayedExecution, limits transport.Limits) (*connection, error) {
	resolved, err := settings.Resolve()
	if err != nil {
		return nil, err
	}
	httpClient, err := rest.HTTPClientFor(resolved.REST)
	if err != nil {
		return nil, &config.Error{Err: fmt.Errorf("unusable credentials: %w", err)}
	}
	server, _, err := rest.DefaultServerUrlFor(resolved.REST)
	if err != nil {
		return nil, &config.Error{Err: err}
	}
	if resolved.Plugin != nil {
		httpClient.Transport = config.Detached{Next: httpClient.Transport}
	}
	sender := transport.New(httpClient.Transport, resolved.Plugin, clock, server, limits)
	httpClient.Transport = sender
	unversioned := rest.CopyConfig(resolved.REST)
	unversioned.GroupVersion = &schema.GroupVersion{}
	unversioned.NegotiatedSerializer = plainSerializer()
	if unversioned.QPS > 0 { // otherwise, each client would have a limiter of its own
		unversioned.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(unversioned.QPS, unversioned.Burst)
	}
	raw, err := rest.UnversionedRESTClientForConfigAndClient(unversioned, httpClient)
	if err != nil {
		return nil, &config.Error{Err: err}
	}
	watches := rest.CopyConfig(unversioned)
	watches.NegotiatedSerializer = entrySerializer{plainSerializer()}
	entries, err := rest.UnversionedRESTClientForConfigAndClient(watches, httpClient)
	if err != nil {
		return nil, &config.Error{Err: err}
	}
	return &connection{rest: raw, entries: entries, namespace: resolved.Namespace,
		server: resolved.REST.Host, hide: sender.Hide}, nil
}

func (c *connection) document(ctx context.Context, path string) ([]byte, error) {
	return c.rest.Get().AbsPath(path).SetHeader("Accept",
		"application/json").Do(ctx).Raw() // unlike DoRaw, it keeps the reason of the server
}

// plainSerializer decodes only the Status of a failed request.
func plainSerializer() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}

// Hide replaces the credential of the provider in a text of the server, such as the output of a pod.
func (a *API) Hide(text string) string {
	if conn, err := a.connect(); err == nil {
		return conn.hide(text)
	}
	return text
}

// RESTConfig returns the configuration of the connection. It contains
// credentials.
func (a *API) RESTConfig() (*rest.Config, error) {
	resolved, err := Recall(a, "configuration", a.config.Resolve)
	return resolved.REST, err
}

// Get returns one object from the server, without the cache.
func (a *API) Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	obj, err := a.send(ctx, ref, request{method: http.MethodGet})
	return obj, a.denied(ctx, ref, Wrap("read", ref, err), "get")
}

// Exists reports whether the server has an object. It requests only metadata,
// without values of a Secret.
func (a *API) Exists(ctx context.Context, ref Ref) (bool, error) {
	_, err := a.send(ctx, ref, request{method: http.MethodGet, metadataOnly: true})
	if err = Wrap("read", ref, err); IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// applyOnce sends one server-side apply. With force, it takes over fields of
// other managers.
func (a *API) applyOnce(
	ctx context.Context, ref Ref, obj *unstructured.Unstructured, force, dryRun bool,
) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, Wrap("apply", ref, err)
	}
	params := strict(dryRun)
	params["force"] = strconv.FormatBool(force)
	out, err := a.write(ctx, "apply", ref, request{
		method: http.MethodPatch, contentType: types.ApplyPatchType, params: params, body: data,
	})
	return out, a.maskError(ctx, ref, err, obj, "patch", "create") // a new object needs both
}

// strict returns the parameters of a write of the provider with strict field validation.
func strict(dryRun bool) map[string]string {
	params := map[string]string{"fieldManager": Manager, "fieldValidation": metav1.FieldValidationStrict}
	if dryRun {
		params["dryRun"] = metav1.DryRunAll
	}
	return params
}

func (a *API) removeOnce(ctx context.Context, ref Ref, uid types.UID, options []byte) error {
	_, err := a.write(ctx, "delete", ref, request{method: http.MethodDelete, body: options})
	if IsNotFound(err) {
		return nil
	}
	if ClassOf(err) == Conflict && uid != "" {
		switch live, readErr := a.Get(ctx, ref); {
		case IsNotFound(readErr), readErr == nil && live.GetUID() != uid:
			return nil
		case readErr != nil && ClassOf(readErr) != Denied:
			return readErr
		}
	}
	return a.maskError(ctx, ref, err, nil, "delete")
}
