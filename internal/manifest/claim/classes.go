package claim

import (
	"fmt"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
)

// Choose returns the class for a volume without one: for ReadWriteMany a class that is known to share volumes,
// otherwise the default class of the cluster. For ReadWriteMany, it never returns a class of disks. It returns nil if
// there is no such class.
func Choose(accessMode string, classes []*storagev1.StorageClass) *storagev1.StorageClass {
	defaultClass := Default(classes)
	if accessMode != DefaultAccessMode {
		return defaultClass
	}
	sharing := Sharing(classes)
	switch {
	case len(sharing) == 0 && defaultClass != nil && isDisk(defaultClass.Provisioner):
		return nil
	case len(sharing) == 0 || slices.Contains(sharing, defaultClass):
		return defaultClass
	default:
		return sharing[0]
	}
}

// Sharing returns the classes that are known to share volumes, sorted by name.
func Sharing(classes []*storagev1.StorageClass) []*storagev1.StorageClass {
	return sortedWithout(classes, func(class *storagev1.StorageClass) bool { return !shares(class.Provisioner) })
}

// Candidates returns the classes that can be suitable for an access mode, sorted by name: for ReadWriteMany those that
// are not disks.
func Candidates(accessMode string, classes []*storagev1.StorageClass) []*storagev1.StorageClass {
	return sortedWithout(classes, func(class *storagev1.StorageClass) bool {
		return accessMode == DefaultAccessMode && isDisk(class.Provisioner)
	})
}

func sortedWithout(
	classes []*storagev1.StorageClass, reject func(*storagev1.StorageClass) bool,
) []*storagev1.StorageClass {
	accepted := slices.DeleteFunc(slices.Clone(classes), reject)
	slices.SortFunc(accepted, func(a, b *storagev1.StorageClass) int { return strings.Compare(a.Name, b.Name) })
	return accepted
}

// Default returns the class that Kubernetes sets for a claim without one: the newest of the marked classes, and the
// first by name of equally old ones
// (https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass).
func Default(classes []*storagev1.StorageClass) *storagev1.StorageClass {
	marked := sortedWithout(classes, func(class *storagev1.StorageClass) bool { return !isDefault(class) })
	if len(marked) == 0 {
		return nil
	}
	return slices.MaxFunc(marked, func(a, b *storagev1.StorageClass) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
}

// isDefault also accepts the annotation from before Kubernetes 1.6, which is still in effect.
func isDefault(class *storagev1.StorageClass) bool {
	return class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
		class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}

// shares reports whether pods on all nodes can write to volumes of a provisioner: network file systems. Each name is
// the one that the driver registers and that its documentation uses in a StorageClass.
func shares(provisioner string) bool {
	switch provisioner {
	case "efs.csi.aws.com", // github.com/kubernetes-sigs/aws-efs-csi-driver
		"fsx.csi.aws.com",              // Lustre: github.com/kubernetes-sigs/aws-fsx-csi-driver
		"fsx.openzfs.csi.aws.com",      // github.com/kubernetes-sigs/aws-fsx-openzfs-csi-driver
		"filestore.csi.storage.gke.io", // github.com/kubernetes-sigs/gcp-filestore-csi-driver
		"lustre.csi.storage.gke.io",    // github.com/GoogleCloudPlatform/lustre-csi-driver
		"file.csi.azure.com",           // github.com/kubernetes-sigs/azurefile-csi-driver
		"kubernetes.io/azure-file",     // its earlier name, in Kubernetes
		"azurelustre.csi.azure.com",    // github.com/kubernetes-sigs/azurelustre-csi-driver
		"nfs.csi.k8s.io":               // github.com/kubernetes-csi/csi-driver-nfs
		return true
	default:
		return ofCeph(provisioner, "cephfs.csi.ceph.com")
	}
}

// ofCeph reports whether a provisioner is a driver of github.com/ceph/ceph-csi. Rook and OpenShift prefix the name of
// the driver with a namespace, such as "rook-ceph." (https://rook.io/docs/rook/latest/Storage-Configuration/).
func ofCeph(provisioner, driver string) bool {
	return provisioner == driver || strings.HasSuffix(provisioner, "."+driver)
}

// CannotShare reports whether volumes of a provisioner can only be written from one node at a time: disks, and
// directories of nodes.
func CannotShare(provisioner string) bool {
	switch provisioner {
	case "kubernetes.io/host-path", "k8s.io/minikube-hostpath", "docker.io/hostpath", "microk8s.io/hostpath",
		"hostpath.csi.k8s.io",
		"rancher.io/local-path", "openebs.io/local", "topolvm.io":
		return true
	default:
		return isDisk(provisioner)
	}
}

// isDisk reports whether a provisioner provides disks, which attach to one node. Unlike a directory of a node, which
// suffices on a cluster with one node, they reject ReadWriteMany.
func isDisk(provisioner string) bool {
	switch provisioner {
	case "ebs.csi.aws.com", "ebs.csi.eks.amazonaws.com", "kubernetes.io/aws-ebs",
		"pd.csi.storage.gke.io", "kubernetes.io/gce-pd",
		"disk.csi.azure.com", "kubernetes.io/azure-disk",
		"cinder.csi.openstack.org", "kubernetes.io/cinder",
		"dobs.csi.digitalocean.com", "linodebs.csi.linode.com", "csi.hetzner.cloud":
		return true
	default:
		return ofCeph(provisioner, "rbd.csi.ceph.com")
	}
}

// List formats classes for a message: "fast (provisioner ebs.csi.aws.com, the default), shared (provisioner
// nfs.csi.k8s.io)".
func List(classes []*storagev1.StorageClass) string {
	if len(classes) == 0 {
		return "none"
	}
	defaultClass := Default(classes)
	var names []string
	for _, class := range classes {
		mark := ""
		if class == defaultClass {
			mark = ", the default"
		}
		names = append(names, fmt.Sprintf("%s (provisioner %s%s)", class.Name, class.Provisioner, mark))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Grows reports whether the volumes of a class can grow.
func Grows(class *storagev1.StorageClass) bool {
	return class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion
}

// WaitsForConsumer reports whether a class provides a volume only when a pod uses it.
func WaitsForConsumer(class *storagev1.StorageClass) bool {
	return class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}
