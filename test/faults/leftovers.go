package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// served is a kind that the cluster serves.
type served struct {
	gvr  schema.GroupVersionResource
	kind string
}

// discover lists the kinds whose objects can be created, listed and deleted, in the preferred version of their group.
// Endpoints are left out, because Kubernetes copies the labels of a Service to them.
func discover(client discovery.DiscoveryInterface) ([]served, error) {
	lists, err := discovery.ServerPreferredResources(client)
	if err != nil {
		return nil, err
	}
	var out []served
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			verbs := []string(r.Verbs)
			managed := slices.Contains(verbs, "create") && slices.Contains(verbs, "list") &&
				slices.Contains(verbs, "delete")
			if managed && r.Kind != "Endpoints" {
				out = append(out, served{gvr: version.WithResource(r.Name), kind: r.Kind})
			}
		}
	}
	return out, nil
}

// object is an object of the provider in the cluster.
type object struct {
	served

	namespace, name string
	uid             types.UID
	annotations     map[string]string
	// settled reports whether the object has reached its desired state.
	settled bool
}

// isManaged reports whether an object has the provider's field manager, or its label without being part of another
// object.
func isManaged(o metav1.Object) bool {
	return o.GetLabels()[kind.ManagedByLabel] == kind.ManagedByValue && len(o.GetOwnerReferences()) == 0 ||
		slices.ContainsFunc(o.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
			return strings.HasPrefix(entry.Manager, kube.Manager)
		})
}

// ofBench matches the namespaces of cycles, and the names of their objects without a namespace.
var ofBench = regexp.MustCompile(`^faults-\d+($|-)`)

// objects lists the provider's objects of all served kinds: those of a namespace or, if they have none, with its name
// as prefix, by Kind/namespace/name as in `manifests`. Strays are objects in namespaces, or with names, that no cycle
// has: every other cycle looks for its own.
func (c *cluster) objects(ctx context.Context, namespace string) (own map[string]object, strays []string, err error) {
	return c.objectsOf(ctx, namespace, c.served)
}

// objectsOf is objects of some kinds.
func (c *cluster) objectsOf(
	ctx context.Context, namespace string, kinds []served,
) (own map[string]object, strays []string, err error) {
	own = map[string]object{}
	var mu sync.Mutex
	var group errgroup.Group
	const parallel = 4
	group.SetLimit(parallel)
	for _, resource := range kinds {
		group.Go(func() error {
			list, err := c.metadata.Resource(resource.gvr).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				return nil // a kind that is only served for reviews
			}
			if err != nil {
				return fmt.Errorf("%s: %w", resource.gvr, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for i := range list.Items {
				item := &list.Items[i]
				if !isManaged(item) {
					continue
				}
				key := resource.kind + "/" + item.Namespace + "/" + item.Name
				switch {
				case item.Namespace == namespace, item.Namespace == "" && strings.HasPrefix(item.Name, namespace+"-"):
					own[key] = object{served: resource, namespace: item.Namespace, name: item.Name, uid: item.UID,
						annotations: item.Annotations, settled: true}
				case !ofBench.MatchString(item.Namespace) && !ofBench.MatchString(item.Name):
					strays = append(strays, key)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	return own, strays, c.settle(ctx, own)
}

// settle notes which Deployments have not reached their desired state.
func (c *cluster) settle(ctx context.Context, own map[string]object) error {
	for key, found := range own {
		if found.kind != "Deployment" {
			continue
		}
		deployment, err := c.client.AppsV1().Deployments(found.namespace).Get(ctx, found.name, metav1.GetOptions{})
		if ignoreNotFound(err) != nil {
			return err
		}
		found.settled = err == nil && isReady(deployment)
		own[key] = found
	}
	return nil
}

// remains lists the objects and pods that remain after a destroy.
func (c *cluster) remains(ctx context.Context, namespace string) (left, strays []string, err error) {
	objects, strays, err := c.objects(ctx, namespace)
	if err != nil {
		return nil, nil, err
	}
	left = slices.Collect(maps.Keys(objects))
	pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	for _, pod := range pods.Items {
		left = append(left, "Pod/"+namespace+"/"+pod.Name)
	}
	slices.Sort(left)
	return left, strays, nil
}

// checkLeftovers checks that there are no objects outside of the cycles, and no marks of unfinished creations.
func (c *cycle) checkLeftovers(at step, objects map[string]object, strays []string) error {
	var errs []error
	if len(strays) > 0 {
		slices.Sort(strays)
		errs = append(errs, c.violate(at, "objects where no configuration has any: "+strings.Join(strays, ", ")))
	}
	for key, found := range objects {
		if _, marked := found.annotations[kube.UnfinishedAnnotation]; marked {
			errs = append(errs, c.violate(at, key+" still has the annotation "+kube.UnfinishedAnnotation))
		}
	}
	return joined(errs)
}
