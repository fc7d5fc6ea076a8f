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

// Root is the folder under which controller-manager's host-path provisioner
// makes one folder per volume; its name is fixed in Kubernetes and shared by all clusters of the machine.
const Root = "/tmp/hostpath_pv"

// Remove removes the folders of this cluster's volumes, and the root if that leaves it empty.
// It is for the time after controller-manager has stopped and while the API server still answers.
func Remove(ctx context.Context, root string, client kubernetes.Interface) error {
	return forEach(ctx, root, client, os.RemoveAll)
}

// RemoveEmpty is Remove for a cluster that may be started again: folders with data stay.
func RemoveEmpty(ctx context.Context, root string, client kubernetes.Interface) error {
	return forEach(ctx, root, client, func(folder string) error {
		_ = os.Remove(folder) // fails, and is meant to, where there is data
		return nil
	})
}

// Restore makes the folders of this cluster's volumes that are not there, as after RemoveEmpty.
func Restore(ctx context.Context, root string, client kubernetes.Interface) error {
	return forEach(ctx, root, client, func(folder string) error {
		return os.MkdirAll(folder, 0o777) // the provisioner's mode
	})
}

// forEach does something with the folder of each volume that the provisioner made, and removes the root if
// that leaves it empty.
func forEach(ctx context.Context, root string, client kubernetes.Interface, do func(folder string) error) error {
	volumes, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the volumes for their folders: %w", err)
	}
	var errs []error
	for _, volume := range volumes.Items {
		// Only what the provisioner made: a user's own volume may name any folder.
		if source := volume.Spec.HostPath; source != nil && filepath.Dir(source.Path) == root {
			errs = append(errs, do(source.Path))
		}
	}
	// Fails, and is meant to, while another cluster's volumes are in it.
	_ = os.Remove(root)
	return errors.Join(errs...)
}
