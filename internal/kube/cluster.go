// Package kube is the client of one cluster, independent of Terraform:
// server-side apply, deletion, and reads through a shared list and watch of each
// kind.
package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
)

// Manager is the field manager of all objects that the provider applies.
const Manager = kind.ManagedByValue

// Cluster is the client of one cluster in one run of the provider. It connects
// on first use. All methods are safe for concurrent use.
type Cluster struct {
	config  config.Config
	connect func() (*connection, error)
	clock   clock.WithDelayedExecution
	limits  Limits
	cache   *cache
	outages outages
	memo    sync.Map // results for the complete run: see Recall
	claims  runClaims

	planning atomic.Bool // see Planning

	absences  absences
	deletions sync.Map // types.UID of the objects whose deletion was started in this run, by Ref.Key
	previews  *previews

	completions *Completions // nil: objects keep UnfinishedAnnotation
}

type connection struct {
	rest      rest.Interface
	entries   rest.Interface // for watches
	namespace string
	server    string // its address
	hide      func(text string) string
}

// NewCluster returns a Cluster. It does not read files or send requests.
// Watches end with ctx.
func NewCluster(ctx context.Context, settings config.Config) *Cluster {
	c := &Cluster{config: settings, limits: DefaultLimits(), previews: newPreviews()}
	c.clock = clock.RealClock{}
	c.connect = sync.OnceValues(func() (*connection, error) { return dial(settings, c.clock, c.limits) })
	c.cache = newCache(ctx, c)
	return c
}

// WithCompletions delegates the removal of UnfinishedAnnotation to completions.
func (c *Cluster) WithCompletions(completions *Completions) *Cluster {
	c.completions = completions
	return c
}

// Planning states that this run only plans. Nothing is installed by a plan, so a missing kind stays missing.
func (c *Cluster) Planning() { c.planning.Store(true) }

// WithClock sets the clock for tests.
func (c *Cluster) WithClock(clock clock.WithDelayedExecution) *Cluster {
	c.clock = clock
	return c
}

// WithLimits sets the limits for tests, which can so exceed them quickly.
func (c *Cluster) WithLimits(limits Limits) *Cluster {
	c.limits = limits
	return c
}

func dial(settings config.Config, clock clock.WithDelayedExecution, limits Limits) (*connection, error) {
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
		httpClient.Transport = resolved.Plugin.Detached(httpClient.Transport)
	}
	retries := newRetrier(httpClient.Transport, clock, server, limits)
	httpClient.Transport = plainErrors{next: retries, plugin: resolved.Plugin}
	unversioned := rest.CopyConfig(resolved.REST)
	unversioned.GroupVersion = &schema.GroupVersion{}
	unversioned.NegotiatedSerializer = plainSerializer()
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
		server: resolved.REST.Host, hide: retries.hide}, nil
}

// Hide replaces the credential of the provider in a text of the server, such as the output of a pod.
func (c *Cluster) Hide(text string) string {
	if conn, err := c.connect(); err == nil {
		return conn.hide(text)
	}
	return text
}

// plainSerializer decodes only the Status of a failed request.
func plainSerializer() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}

// RESTConfig returns the configuration of the connection. It contains
// credentials.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	resolved, err := Recall(c, "configuration", c.config.Resolve)
	return resolved.REST, err
}

// Clock returns the clock of waits.
func (c *Cluster) Clock() clock.WithDelayedExecution { return c.clock }

// NodeAutoscaling returns whether nodes are added on demand, if configured.
func (c *Cluster) NodeAutoscaling() *bool { return c.config.NodeAutoscaling }

// RequiresMaskedLogs returns whether logs are shown only without values of Secrets.
func (c *Cluster) RequiresMaskedLogs() bool { return c.config.RequireMaskedLogs }

// Namespace returns the default namespace of resources. It reads configuration
// files, and does not send requests.
func (c *Cluster) Namespace() (string, error) {
	if c.config.Namespace != "" {
		return c.config.Namespace, nil
	}
	conn, err := c.connect()
	if err != nil {
		return "", err
	}
	return conn.namespace, nil
}

// Apply writes obj by server-side apply with strict field validation, and takes
// over fields of other managers. It returns the object as stored by the server.
func (c *Cluster) Apply(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ref, err := c.RefOf(ctx, obj)
	if err != nil {
		return nil, err
	}
	applied, err := c.patch(ctx, ref, obj, false)
	if err == nil {
		c.cache.note(ref, applied)
	}
	return applied, err
}

// DryRun returns the result of Apply without changing the object. The server
// runs admission and validation.
func (c *Cluster) DryRun(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ref, err := c.RefOf(ctx, obj)
	if err != nil {
		return nil, err
	}
	return c.patch(ctx, ref, obj, true)
}

func (c *Cluster) patch(
	ctx context.Context, ref Ref, obj *unstructured.Unstructured, dryRun bool,
) (*unstructured.Unstructured, error) {
	apply := func() (*unstructured.Unstructured, error) { return c.applyOnce(ctx, ref, obj, true, dryRun) }
	if !dryRun {
		if err := c.removeForeignMembers(ctx, ref, obj); err != nil {
			return nil, err
		}
	}
	out, err := apply()
	if err == nil || ref.isSecret() { // a repair would read it, and a Secret has nothing to repair
		return out, err
	}
	repaired, repairErr := c.repair(ctx, ref, obj, err, dryRun)
	switch {
	case repairErr != nil:
		return nil, repairErr
	case !repaired:
		return nil, err
	case dryRun:
		return obj, nil // a dry run cannot build on the result of another one
	default:
		return apply()
	}
}

// applyOnce sends one server-side apply. With force, it takes over fields of
// other managers.
func (c *Cluster) applyOnce(
	ctx context.Context, ref Ref, obj *unstructured.Unstructured, force, dryRun bool,
) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, Wrap("apply", ref, err)
	}
	params := strict(dryRun)
	params["force"] = strconv.FormatBool(force)
	writing, sent := withOutcome(ctx)
	out, err := c.send(writing, ref, request{
		method: http.MethodPatch, contentType: types.ApplyPatchType, params: params, body: data,
	})
	return out, c.maskError(ctx, "apply", "patch", ref, wrapWrite("apply", ref, err, sent), obj)
}

// strict returns the parameters of a write of the provider with strict field validation.
func strict(dryRun bool) map[string]string {
	params := map[string]string{"fieldManager": Manager, "fieldValidation": metav1.FieldValidationStrict}
	if dryRun {
		params["dryRun"] = metav1.DryRunAll
	}
	return params
}

// Get returns one object from the server, without the cache.
func (c *Cluster) Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	obj, err := c.send(ctx, ref, request{method: http.MethodGet})
	return obj, c.denied(ctx, "get", ref, Wrap("read", ref, err))
}

// Delete starts the foreground deletion of an object: the object exists until
// its dependents are deleted. A non-empty uid prevents the deletion of a new
// object of the same name. A missing object is not an error.
func (c *Cluster) Delete(ctx context.Context, ref Ref, uid types.UID) error {
	foreground := metav1.DeletePropagationForeground
	options := metav1.DeleteOptions{PropagationPolicy: &foreground}
	if ref.Kind.Grace > 0 {
		options.GracePeriodSeconds = &ref.Kind.Grace
	}
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	return c.atServedVersion(ctx, ref, func(ref Ref) error {
		err := c.remove(ctx, ref, uid, options)
		if err == nil {
			c.deletions.Store(ref.Key(), uid)
		}
		return err
	})
}

// DeletionOf returns the UID of the object whose deletion was started in this
// run, or "".
func (c *Cluster) DeletionOf(ref Ref) types.UID {
	uid, _ := c.deletions.Load(ref.Key())
	known, _ := uid.(types.UID)
	return known
}

// remove deletes the object with the uid. A missing or replaced object is not an
// error. A conflict proves neither, so the object is read again.
func (c *Cluster) remove(ctx context.Context, ref Ref, uid types.UID, options metav1.DeleteOptions) error {
	options.TypeMeta = metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}
	body, _ := json.Marshal(options) // texts cannot fail
	for interval := conflictBackoff(); ; {
		err := c.removeOnce(ctx, ref, uid, body)
		if ClassOf(err) != Conflict || interval.Steps <= 1 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-c.clock.After(interval.Step()):
		}
	}
}

func (c *Cluster) removeOnce(ctx context.Context, ref Ref, uid types.UID, options []byte) error {
	writing, sent := withOutcome(ctx)
	_, err := c.send(writing, ref, request{method: http.MethodDelete, body: options})
	err = wrapWrite("delete", ref, err, sent)
	if IsNotFound(err) {
		return nil
	}
	if ClassOf(err) == Conflict && uid != "" {
		switch live, readErr := c.Get(ctx, ref); {
		case IsNotFound(readErr), readErr == nil && live.GetUID() != uid:
			return nil
		case readErr != nil && ClassOf(readErr) != Denied:
			return readErr
		}
	}
	return c.maskError(ctx, "delete", "delete", ref, err, nil)
}

// ServiceAccountExists is true if unknown. The result is kept for the run.
func (c *Cluster) ServiceAccountExists(ctx context.Context, namespace, name string) bool {
	ref := Ref{Kind: kind.ServiceAccount(), Namespace: namespace, Name: name}
	exists, _ := Recall(c, ref.Key(), func() (bool, error) {
		_, err := c.Get(ctx, ref)
		return ClassOf(err) != NotFound, nil
	})
	return exists
}
