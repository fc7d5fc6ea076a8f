package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/test/bench/answer"
)

// cluster is the bench's own client.
type cluster struct {
	kubeconfig string
	core       kubernetes.Interface
	client     dynamic.Interface
}

func connect(kubeconfig string) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.WarningHandler, config.UserAgent = -1, rest.NoWarnings{}, "bench"
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	return &cluster{kubeconfig: kubeconfig, core: core, client: client}, err
}

// each calls do for 0 to n-1, in as many goroutines as Terraform uses by default.
func each(ctx context.Context, n int, do func(ctx context.Context, index int) error) error {
	const parallelism = 10
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelism)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// makeNamespaces creates the namespaces of a configuration.
func (c *cluster) makeNamespaces(ctx context.Context, with config) error {
	return each(ctx, min(with.size, with.family.namespaces), func(ctx context.Context, i int) error {
		return c.makeNamespace(ctx, with.namespace(i))
	})
}

// makeNamespace creates a namespace, and the service account that pods need before its controller does.
func (c *cluster) makeNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := c.core.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = c.core.CoreV1().ServiceAccounts(name).Create(ctx, account, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// apply applies an object like the provider. dryRun is [metav1.DryRunAll] or nothing.
func (c *cluster) apply(
	ctx context.Context, of schema.GroupVersionResource, obj *unstructured.Unstructured, dryRun ...string,
) (*unstructured.Unstructured, error) {
	return c.client.Resource(of).Namespace(obj.GetNamespace()).Apply(ctx, obj.GetName(), obj,
		metav1.ApplyOptions{FieldManager: kube.Manager, Force: true, DryRun: dryRun})
}

// unmarkCreation removes the annotation of a creation from an object.
func (c *cluster) unmarkCreation(
	ctx context.Context, of schema.GroupVersionResource, obj *unstructured.Unstructured,
) error {
	patch := `[{"op":"remove","path":"/metadata/annotations/` + strings.ReplaceAll(kube.CreationAnnotation, "/", "~1") +
		`"}]`
	_, err := c.client.Resource(of).Namespace(obj.GetNamespace()).Patch(ctx, obj.GetName(), types.JSONPatchType,
		[]byte(patch), metav1.PatchOptions{FieldManager: kube.Manager})
	return err
}

// label sets the label of the generation by another field manager than the provider's.
func (c *cluster) label(ctx context.Context, of schema.GroupVersionResource, key, value string) error {
	namespace, name := parseKey(key)
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, answer.Generation, value)
	_, err := c.client.Resource(of).Namespace(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: "bench"})
	return err
}

// remove deletes an object like the provider.
func (c *cluster) remove(ctx context.Context, of schema.GroupVersionResource, obj *unstructured.Unstructured) error {
	foreground := metav1.DeletePropagationForeground
	return c.client.Resource(of).Namespace(obj.GetNamespace()).Delete(ctx, obj.GetName(),
		metav1.DeleteOptions{PropagationPolicy: &foreground})
}

// parseKey returns the namespace and the name in a key of the attribute manifests.
func parseKey(key string) (namespace, name string) {
	_, rest, _ := strings.Cut(key, "/")
	namespace, name, _ = strings.Cut(rest, "/")
	return namespace, name
}

// await waits until no object in a namespace with a prefix is pending.
func (c *cluster) await(
	ctx context.Context, of schema.GroupVersionResource, prefix string, isPending func(*unstructured.Unstructured) bool,
) error {
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	objects := c.client.Resource(of)
	pending := map[string]bool{}
	note := func(obj *unstructured.Unstructured, exists bool) {
		if !strings.HasPrefix(obj.GetNamespace(), prefix) {
			return
		}
		key := obj.GetNamespace() + "/" + obj.GetName()
		delete(pending, key)
		if exists && isPending(obj) {
			pending[key] = true
		}
	}
	version, err := eachObject(ctx, objects, func(obj *unstructured.Unstructured) { note(obj, true) })
	if err != nil || len(pending) == 0 {
		return err
	}
	_, err = watchtools.Until(ctx, version, watcherOf(objects, ""), func(event watch.Event) (bool, error) {
		if obj, ok := event.Object.(*unstructured.Unstructured); ok {
			note(obj, event.Type != watch.Deleted)
		}
		return len(pending) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("%d objects of %s are pending: %w", len(pending), of.Resource, err)
	}
	return nil
}

// awaitApplied waits until an object, as an apply has returned it, is no longer pending.
func (c *cluster) awaitApplied(
	ctx context.Context, of schema.GroupVersionResource, obj *unstructured.Unstructured,
	isPending func(*unstructured.Unstructured) bool,
) error {
	if !isPending(obj) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	watcher := watcherOf(c.client.Resource(of).Namespace(obj.GetNamespace()), "metadata.name="+obj.GetName())
	_, err := watchtools.Until(ctx, obj.GetResourceVersion(), watcher, func(event watch.Event) (bool, error) {
		live, ok := event.Object.(*unstructured.Unstructured)
		return ok && !isPending(live), nil
	})
	return err
}

func watcherOf(objects dynamic.ResourceInterface, fieldSelector string) *cache.ListWatch {
	return &cache.ListWatch{WatchFuncWithContext: func(
		ctx context.Context, options metav1.ListOptions,
	) (watch.Interface, error) {
		options.FieldSelector = fieldSelector
		return objects.Watch(ctx, options)
	}}
}

// eachObject calls do for all objects, and returns their resource version.
func eachObject(
	ctx context.Context, objects dynamic.ResourceInterface, do func(*unstructured.Unstructured),
) (version string, err error) {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := objects.List(ctx, options)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			do(&list.Items[i])
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return list.GetResourceVersion(), nil
		}
	}
}

const pageSize = 500

const awaitTime = 15 * time.Minute

// settles reports whether a controller of the dev cluster has yet to update the status.
func settles(obj *unstructured.Unstructured) bool {
	switch group := obj.GroupVersionKind().Group; {
	case obj.GetKind() == "PersistentVolumeClaim":
		phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
		return phase != string(corev1.ClaimBound)
	case group != "apps" && group != "batch":
		return false
	}
	observed, counted, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	if replicas, ok, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas"); ok && replicas == 0 {
		return !counted || observed < obj.GetGeneration() // it is never ready
	}
	return !ready.Assess(ready.Snapshot{Workload: obj}).Ready
}

// exists is pending for the provider's objects, which are to be deleted.
func exists(obj *unstructured.Unstructured) bool {
	return obj.GetLabels()[kind.ManagedByLabel] == kube.Manager
}
