package claim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
)

// Choose returns the class for a volume that names none: for ReadWriteMany one
// that is known to share volumes, else the cluster's default class; nil where
// there is neither.
func Choose(accessMode string, classes []*storagev1.StorageClass) *storagev1.StorageClass {
	standard := Default(classes)
	if accessMode != DefaultAccessMode {
		return standard
	}
	if standard != nil && shares(standard.Provisioner) {
		return standard
	}
	var sharing *storagev1.StorageClass
	for _, class := range classes {
		if shares(class.Provisioner) && (sharing == nil || class.Name < sharing.Name) {
			sharing = class
		}
	}
	return cmp.Or(sharing, standard)
}

// Default is the class that Kubernetes gives a claim without one: of those that
// are marked the newest, of equally old ones the first by name
// (https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass).
func Default(classes []*storagev1.StorageClass) *storagev1.StorageClass {
	var chosen *storagev1.StorageClass
	for _, class := range classes {
		if !isDefault(class) {
			continue
		}
		if chosen == nil || cmp.Or(chosen.CreationTimestamp.Compare(class.CreationTimestamp.Time), strings.Compare(class.Name, chosen.Name)) < 0 {
			chosen = class
		}
	}
	return chosen
}

// isDefault also knows the annotation from before Kubernetes 1.6, which is
// still honoured.
func isDefault(class *storagev1.StorageClass) bool {
	return class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
		class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}

// shares says whether a provisioner is one whose volumes the pods of all nodes
// can write to.
func shares(provisioner string) bool {
	return provisioner == "nfs.csi.k8s.io" || provisioner == "cephfs.csi.ceph.com"
}

// CannotShare says whether a provisioner is known to make volumes that one node
// at a time can write to: disks of clouds, and folders of nodes.
func CannotShare(provisioner string) bool {
	switch provisioner {
	case "ebs.csi.aws.com", "ebs.csi.eks.amazonaws.com", "kubernetes.io/aws-ebs",
		"pd.csi.storage.gke.io", "kubernetes.io/gce-pd",
		"disk.csi.azure.com", "kubernetes.io/azure-disk",
		"cinder.csi.openstack.org", "kubernetes.io/cinder",
		"dobs.csi.digitalocean.com", "linodebs.csi.linode.com", "csi.hetzner.cloud", "rbd.csi.ceph.com",
		"kubernetes.io/host-path", "k8s.io/minikube-hostpath", "docker.io/hostpath", "microk8s.io/hostpath", "hostpath.csi.k8s.io",
		"rancher.io/local-path", "openebs.io/local", "topolvm.io":
		return true
	default:
		return false
	}
}

// List names classes for a message: "fast (provisioner ebs.csi.aws.com, the
// default), shared (provisioner nfs.csi.k8s.io)".
func List(classes []*storagev1.StorageClass) string {
	if len(classes) == 0 {
		return "none"
	}
	standard := Default(classes)
	var names []string
	for _, class := range classes {
		mark := ""
		if class == standard {
			mark = ", the default"
		}
		names = append(names, fmt.Sprintf("%s (provisioner %s%s)", class.Name, class.Provisioner, mark))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Grows says whether the volumes of a class can be made larger.
func Grows(class *storagev1.StorageClass) bool {
	return class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion
}

// WaitsForConsumer says whether a class provides a volume only once a pod needs it.
func WaitsForConsumer(class *storagev1.StorageClass) bool {
	return class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}
