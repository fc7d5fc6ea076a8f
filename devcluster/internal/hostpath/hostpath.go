// Package hostpath cleans up after the host-path provisioner of kube-controller-manager.
package hostpath

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Root is the directory in which controller-manager's host-path provisioner creates
// one directory per volume. Kubernetes hard-codes its name, so all clusters of the machine share it.
const Root = "/tmp/hostpath_pv"

// Remove removes the directories of this cluster's volumes, and the root if it is empty afterwards.
// It must be called after controller-manager has stopped and while the API server is running.
func Remove(ctx context.Context, root string, client kubernetes.Interface) error {
	return forEach(ctx, root, client, os.RemoveAll)
}

// RemoveEmpty is like Remove, for a cluster that may be restarted: it keeps directories with data.
func RemoveEmpty(ctx context.Context, root string, client kubernetes.Interface) error {
	return forEach(ctx, root, client, func(directory string) error {
		_ = os.Remove(directory) // fails intentionally if the directory is not empty
		return nil
	})
}

// Restore creates missing directories of this cluster's volumes, for example after RemoveEmpty.
func Restore(ctx context.Context, root string, client kubernetes.Interface) error {
	return forEach(ctx, root, client, func(directory string) error {
		return os.MkdirAll(directory, 0o777) // the mode that the provisioner uses
	})
}

// forEach calls do with the directory of each provisioned volume, and removes the root if it is empty afterwards.
func forEach(ctx context.Context, root string, client kubernetes.Interface, do func(directory string) error) error {
	volumes, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the volumes for their directories: %w", err)
	}
	var errs []error
	for _, volume := range volumes.Items {
		// Only directories of the provisioner, because other volumes may refer to any directory.
		if source := volume.Spec.HostPath; source != nil && filepath.Dir(source.Path) == root {
			errs = append(errs, do(source.Path))
		}
	}
	// Fails intentionally if the directory contains volumes of other clusters.
	_ = os.Remove(root)
	return errors.Join(errs...)
}
