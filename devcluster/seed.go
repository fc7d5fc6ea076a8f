package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"

	"github.com/ktdev/terraform-provider-kt/devcluster/internal/crds"
	"github.com/ktdev/terraform-provider-kt/devcluster/internal/options"
)

// pollInterval is the interval at which the start checks conditions.
const pollInterval = 50 * time.Millisecond

// seed creates the initial objects of a cluster (CRDs, a default StorageClass, nodes) unless an earlier start in the
// same directory has created them, and waits until workloads can run.
func seed(ctx context.Context, config *rest.Config, client kubernetes.Interface, opts options.Options) error {
	if err := createNodes(ctx, client, opts); err != nil {
		return err
	}
	extensions, err := apiextensions.NewForConfig(config)
	if err != nil {
		return err
	}
	err = crds.Apply(ctx, extensions, opts.CRDs, func(what string, done func(context.Context) (bool, error)) error {
		return poll(ctx, what, done)
	})
	if err != nil {
		return err
	}
	_, err = client.StorageV1().StorageClasses().Create(ctx, defaultStorageClass(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the default StorageClass: %w", err)
	}
	for _, node := range opts.Nodes {
		if err := waitNode(ctx, client, node.Name); err != nil {
			return err
		}
	}
	return waitDefaultAccount(ctx, client)
}

func createNodes(ctx context.Context, client kubernetes.Interface, opts options.Options) error {
	for _, node := range opts.Nodes {
		_, err := client.CoreV1().Nodes().Create(ctx, node.Object(version.Get().GitVersion), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create node %s: %w", node.Name, err)
		}
	}
	return nil
}

// defaultStorageClass returns a StorageClass of controller-manager's host-path provisioner, which provisions
// directories of this machine.
func defaultStorageClass() *storagev1.StorageClass {
	reclaim, binding := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "standard",
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner:       "kubernetes.io/host-path",
		ReclaimPolicy:     &reclaim,
		VolumeBindingMode: &binding,
	}
}

// waitReady waits until the API server reports that it is ready.
func waitReady(ctx context.Context, client kubernetes.Interface) error {
	return poll(ctx, "the API server to be ready", func(ctx context.Context) (bool, error) {
		body, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil && string(body) == "ok", nil
	})
}

// waitNode waits until a node is ready and schedulable. A new node has the not-ready
// taint until controller-manager has observed that it is ready.
func waitNode(ctx context.Context, client kubernetes.Interface, name string) error {
	return poll(ctx, "node "+name+" to be ready", func(ctx context.Context) (bool, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil // the kubelet of a real node registers it
		}
		if err != nil {
			return false, err
		}
		for _, taint := range node.Spec.Taints {
			if taint.Key == corev1.TaintNodeNotReady {
				return false, nil
			}
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				return condition.Status == corev1.ConditionTrue, nil
			}
		}
		return false, nil
	})
}

// waitDefaultAccount waits for the default service account, without which admission rejects all pods.
func waitDefaultAccount(ctx context.Context, client kubernetes.Interface) error {
	return poll(ctx, "the default service account", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

func poll(ctx context.Context, what string, done wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, pollInterval, startTimeout, true, done); err != nil {
		return fmt.Errorf("wait for %s: %w", what, err)
	}
	return nil
}
