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

// Root is the folder in which controller-manager's host-path provisioner creates
// one folder per volume. Kubernetes hard-codes its name, so all clusters of the machine share it.
const Root = "/tmp/hostpath_pv"

// Remove removes the folders of this cluster's volumes, and the root if it is empty afterwards.
// It must be called after controller-manager has stopped and while the API server is running.
func Remove(ctx context.Context, root string, client kubernetes.Interface) error {
	return forEach(ctx, root, client, os.RemoveAll)
}

// RemoveEmpty is like Remove, for a cluster that may be restarted: it keeps folders with data.
func RemoveEmpty(ctx context.Context, root string, client kubernetes.Interface) error {
	return forEach(ctx, root, client, func(folder string) error {
		_ = os.Remove(folder) // fails intentionally if the folder is not empty
		return nil
	})
}

// Restore creates missing folders of this cluster's volumes, for example after RemoveEmpty.
func Restore(ctx context.Context, root string, client kubernetes.Interface) error {
	return forEach(ctx, root, client, func(folder string) error {
		return os.MkdirAll(folder, 0o777) // the mode that the provisioner uses
	})
}

// forEach calls do with the folder of each provisioned volume, and removes the root if it is empty afterwards.
func forEach(ctx context.Context, root string, client kubernetes.Interface, do func(folder string) error) error {
	volumes, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the volumes for their folders: %w", err)
	}
	var errs []error
	for _, volume := range volumes.Items {
		// Only folders of the provisioner, because other volumes may refer to any folder.
		if source := volume.Spec.HostPath; source != nil && filepath.Dir(source.Path) == root {
			errs = append(errs, do(source.Path))
		}
	}
	// Fails intentionally if the folder contains volumes of other clusters.
	_ = os.Remove(root)
	return errors.Join(errs...)
}
