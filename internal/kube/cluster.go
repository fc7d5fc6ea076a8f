// Package kube is the client of one cluster, independent of Terraform:
// server-side apply, deletion, and reads through a shared list and watch of each
// kind.
package kube

import (
	"context"
	"encoding/json"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/transport"
)

// Manager is the field manager of all objects that the provider applies.
const Manager = kind.ManagedByValue

// Cluster is the client of one cluster in one run of the provider. Its methods write objects. All methods are safe for
// concurrent use.
type Cluster struct {
	// API sends single requests, and reads the current state.
	API *API
	// Store reads objects from shared lists and watches.
	Store *Store
	// Discovery knows the kinds that the server serves.
	Discovery *Discovery

	absences  sync.Map // time.Time of the last observed absence of an object in this run, by Ref.Key
	deletions sync.Map // types.UID of the objects whose deletion was started in this run, by Ref.Key
}

// NewCluster returns a Cluster. It does not read files or send requests.
// Watches end with ctx.
func NewCluster(ctx context.Context, settings config.Config) *Cluster {
	api := &API{config: settings, clock: clock.RealClock{}, limits: transport.DefaultLimits()}
	api.connect = sync.OnceValues(func() (*connection, error) { return dial(settings, api.clock, api.limits) })
	discovery := &Discovery{api: api}
	return &Cluster{API: api, Discovery: discovery, Store: &Store{ctx: ctx, api: api, discovery: discovery,
		collections: map[string]*collection{}, namespaces: map[string]int{}}}
}

// WithClock sets the clock for tests.
func (c *Cluster) WithClock(clock clock.WithDelayedExecution) *Cluster {
	c.API.clock = clock
	return c
}

// WithLimits sets the limits for tests, which can so exceed them quickly.
func (c *Cluster) WithLimits(limits transport.Limits) *Cluster {
	c.API.limits = limits
	return c
}

// Clock returns the clock of waits.
func (c *Cluster) Clock() clock.WithDelayedExecution { return c.API.clock }

// NodeAutoscaling returns whether nodes are added on demand, if configured.
func (c *Cluster) NodeAutoscaling() *bool { return c.API.config.NodeAutoscaling }

// RequiresMaskedLogs returns whether logs are shown only without values of Secrets.
func (c *Cluster) RequiresMaskedLogs() bool { return c.API.config.RequireMaskedLogs }

// Namespace returns the default namespace of resources. It reads configuration
// files, and does not send requests.
func (c *Cluster) Namespace() (string, error) {
	if c.API.config.Namespace != "" {
		return c.API.config.Namespace, nil
	}
	conn, err := c.API.connect()
	if err != nil {
		return "", err
	}
	return conn.namespace, nil
}

// Apply writes obj by server-side apply with strict field validation, and takes
// over fields of other managers. It returns the object as stored by the server.
func (c *Cluster) Apply(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ref, err := c.Discovery.RefOf(ctx, obj)
	if err != nil {
		return nil, err
	}
	applied, err := c.patch(ctx, ref, obj, false)
	if err == nil {
		c.Store.note(ref, applied)
	}
	return applied, err
}

// DryRun returns the result of Apply without changing the object. The server
// runs admission and validation.
func (c *Cluster) DryRun(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ref, err := c.Discovery.RefOf(ctx, obj)
	if err != nil {
		return nil, err
	}
	return c.patch(ctx, ref, obj, true)
}

func (c *Cluster) patch(
	ctx context.Context, ref Ref, obj *unstructured.Unstructured, dryRun bool,
) (*unstructured.Unstructured, error) {
	apply := func() (*unstructured.Unstructured, error) { return c.API.applyOnce(ctx, ref, obj, true, dryRun) }
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

// Delete starts the foreground deletion of an object: the object exists until
// its dependents are deleted. A non-empty uid prevents the deletion of a new
// object of the same name. A missing object is not an error.
func (c *Cluster) Delete(ctx context.Context, ref Ref, uid types.UID) error {
	options := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}
	if ref.Kind.Grace > 0 {
		options.GracePeriodSeconds = &ref.Kind.Grace
	}
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	return c.Discovery.atServedVersion(ctx, ref, func(ref Ref) error {
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
		err := c.API.removeOnce(ctx, ref, uid, body)
		if ClassOf(err) != Conflict || interval.Steps <= 1 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-c.API.clock.After(interval.Step()):
		}
	}
}

// MayExist reports whether an object that others create exists. It is true if that is unknown. The result is kept for
// the run.
func (c *Cluster) MayExist(ctx context.Context, ref Ref) bool {
	exists, _ := Recall(c.API, ref.Key(), func() (bool, error) {
		_, err := c.API.Get(ctx, ref)
		return ClassOf(err) != NotFound, nil
	})
	return exists
}
