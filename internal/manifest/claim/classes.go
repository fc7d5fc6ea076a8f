package claim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
)

// Choose returns the class for a volume without one: for ReadWriteMany a class that is known to share volumes,
// otherwise the default class of the cluster. It returns nil if there is neither.
func Choose(accessMode string, classes []*storagev1.StorageClass) *storagev1.StorageClass {
	defaultClass := Default(classes)
	if accessMode != DefaultAccessMode {
		return defaultClass
	}
	if defaultClass != nil && shares(defaultClass.Provisioner) {
		return defaultClass
	}
	var sharing *storagev1.StorageClass
	for _, class := range classes {
		if shares(class.Provisioner) && (sharing == nil || class.Name < sharing.Name) {
			sharing = class
		}
	}
	return cmp.Or(sharing, defaultClass)
}

// Default returns the class that Kubernetes sets for a claim without one: the newest of the marked classes, and the
// first by name of equally old ones
// (https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass).
func Default(classes []*storagev1.StorageClass) *storagev1.StorageClass {
	var chosen *storagev1.StorageClass
	for _, class := range classes {
		if !isDefault(class) {
			continue
		}
		if chosen == nil || cmp.Or(chosen.CreationTimestamp.Compare(class.CreationTimestamp.Time),
			strings.Compare(class.Name, chosen.Name)) < 0 {
			chosen = class
		}
	}
	return chosen
}

// isDefault also accepts the annotation from before Kubernetes 1.6, which is still in effect.
func isDefault(class *storagev1.StorageClass) bool {
	return class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
		class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}

// shares reports whether pods on all nodes can write to volumes of a provisioner.
func shares(provisioner string) bool {
	return provisioner == "nfs.csi.k8s.io" || provisioner == "cephfs.csi.ceph.com"
}

// CannotShare reports whether volumes of a provisioner can only be written from one node at a time: disks of clouds,
// and directories of nodes.
func CannotShare(provisioner string) bool {
	switch provisioner {
	case "ebs.csi.aws.com", "ebs.csi.eks.amazonaws.com", "kubernetes.io/aws-ebs",
		"pd.csi.storage.gke.io", "kubernetes.io/gce-pd",
		"disk.csi.azure.com", "kubernetes.io/azure-disk",
		"cinder.csi.openstack.org", "kubernetes.io/cinder",
		"dobs.csi.digitalocean.com", "linodebs.csi.linode.com", "csi.hetzner.cloud", "rbd.csi.ceph.com",
		"kubernetes.io/host-path", "k8s.io/minikube-hostpath", "docker.io/hostpath", "microk8s.io/hostpath",
		"hostpath.csi.k8s.io",
		"rancher.io/local-path", "openebs.io/local", "topolvm.io":
		return true
	default:
		return false
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
