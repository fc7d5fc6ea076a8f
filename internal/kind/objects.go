package kind

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// KubetorchWorkload is kubetorch.com/v1alpha1 KubetorchWorkload, which registers a
// service with the controller of Kubetorch and its Python clients. Its fields are
// those of the CRD in the Helm chart of Kubetorch.
func KubetorchWorkload() Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: KubetorchGroup, Version: "v1alpha1",
			Kind: "KubetorchWorkload"},
		Resource: "kubetorchworkloads", LabelSelector: Ours,
		Operator: "Kubetorch's Helm chart (https://github.com/run-house/kubetorch)",
	}
}

// core is a kind of the core group that the provider writes.
func core(kind, resource string, immutable ...string) Kind {
	return Kind{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind(kind),
		Resource:         resource, LabelSelector: Ours, Immutable: immutable,
	}
}

// Service is the core Service.
func Service() Kind { return core("Service", "services", "spec.clusterIP", "spec.clusterIPs") }

// HorizontalPodAutoscaler is autoscaling/v2 HorizontalPodAutoscaler.
func HorizontalPodAutoscaler() Kind {
	return Kind{
		GroupVersionKind: autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
		Resource:         "horizontalpodautoscalers",
	}
}

// PodDisruptionBudget is policy/v1 PodDisruptionBudget.
func PodDisruptionBudget() Kind {
	return Kind{
		GroupVersionKind: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		Resource:         "poddisruptionbudgets", LabelSelector: Ours,
	}
}

// Ingress is networking.k8s.io/v1 Ingress.
func Ingress() Kind {
	return Kind{
		GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind("Ingress"),
		Resource:         "ingresses", LabelSelector: Ours,
	}
}

// HTTPRoute is gateway.networking.k8s.io/v1 HTTPRoute.
func HTTPRoute() Kind { return gatewayRoute("HTTPRoute", "httproutes") }

// GRPCRoute is gateway.networking.k8s.io/v1 GRPCRoute.
func GRPCRoute() Kind { return gatewayRoute("GRPCRoute", "grpcroutes") }

func gatewayRoute(kind, resource string) Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: kind},
		Resource:         resource, LabelSelector: Ours,
		Operator: "the Gateway API (https://gateway-api.sigs.k8s.io/)",
	}
}

// PlainHTTP2 is the appProtocol of a port that serves HTTP/2 without TLS, such as gRPC
// (https://kubernetes.io/docs/concepts/services-networking/service/#application-protocol).
const PlainHTTP2 = "kubernetes.io/h2c"

// ServiceHost returns the DNS name of a Service in a cluster with the default domain
// (https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/).
func ServiceHost(namespace, name string) string { return name + "." + namespace + ".svc.cluster.local" }

// PersistentVolumeClaim is the core PersistentVolumeClaim. The server reports the
// whole spec as immutable, except its size and its attributes class.
func PersistentVolumeClaim() Kind {
	return core("PersistentVolumeClaim", "persistentvolumeclaims", "spec")
}

// Secret is the core Secret.
func Secret() Kind { return core("Secret", "secrets", "type", "immutable", "data") }

// SecretMetadata is the core Secret without its values.
func SecretMetadata() Kind {
	k := Secret()
	k.MetadataOnly = true
	return k
}

// ConfigMap is the core ConfigMap.
func ConfigMap() Kind { return core("ConfigMap", "configmaps", "immutable", "data", "binaryData") }

// Event is the core Event. The shared watch contains only warnings.
func Event() Kind {
	k := core("Event", "events")
	k.LabelSelector, k.FieldSelector = "", "type=Warning"
	return k
}

// ScalingEvent is the core Event of an autoscaler about a pod without a node. One
// field selector cannot select warnings and these events, so they have a separate
// list and watch, which starts with the first such pod. Events of kubelets and of
// the scheduler are excluded.
func ScalingEvent() Kind {
	k := core("Event", "events")
	k.LabelSelector, k.FieldSelector = "", "type=Normal,involvedObject.kind=Pod,"+
		"reason!=Scheduled,reason!=Pulling,reason!=Pulled,reason!=Created,reason!=Started,reason!=Killing,"+
		"reason!=BackOff"
	return k
}

// Node is the core Node.
func Node() Kind {
	k := core("Node", "nodes")
	k.LabelSelector, k.ClusterScoped = "", true
	return k
}

// PersistentVolume is the core PersistentVolume.
func PersistentVolume() Kind {
	k := core("PersistentVolume", "persistentvolumes")
	k.LabelSelector, k.ClusterScoped = "", true
	return k
}

// ServiceAccount is the core ServiceAccount.
func ServiceAccount() Kind {
	k := core("ServiceAccount", "serviceaccounts")
	k.LabelSelector = ""
	return k
}

// StorageClass is storage.k8s.io/v1 StorageClass.
func StorageClass() Kind {
	return Kind{
		GroupVersionKind: storagev1.SchemeGroupVersion.WithKind("StorageClass"),
		Resource:         "storageclasses", ClusterScoped: true,
	}
}

// KueueVersion is the version of Kueue's API in which the provider writes objects.
const KueueVersion = "v1beta2"

// LocalQueue is the kind of Kueue, in the version that the server prefers: the fields
// that the provider reads are the same in v1beta1 and v1beta2.
func LocalQueue(version string) Kind {
	k := kueue(version, "LocalQueue", "localqueues")
	k.Immutable = []string{"spec.clusterQueue"}
	return k
}

// ClusterQueue is the kind of Kueue; see [LocalQueue].
func ClusterQueue(version string) Kind {
	k := kueue(version, "ClusterQueue", "clusterqueues")
	k.ClusterScoped = true
	return k
}

// ResourceFlavor is the kind of Kueue; see [LocalQueue].
func ResourceFlavor(version string) Kind {
	k := kueue(version, "ResourceFlavor", "resourceflavors")
	k.ClusterScoped = true
	// With a topology, its other fields are immutable. The validation rules of the CRD report that for all of spec.
	k.Immutable = []string{"spec"}
	return k
}

// AdmissionCheck is the kind of Kueue; see [LocalQueue].
func AdmissionCheck(version string) Kind {
	k := kueue(version, "AdmissionCheck", "admissionchecks")
	k.ClusterScoped = true
	return k
}

// KueueWorkload is the kind of Kueue; see [LocalQueue].
func KueueWorkload(version string) Kind { return kueue(version, "Workload", "workloads") }

func kueue(version, kind, resource string) Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: KueueGroup, Version: version, Kind: kind}, Resource: resource,
		Operator: "Kueue (https://kueue.sigs.k8s.io/docs/installation/)",
	}
}

// KAIQueue is the queue of the KAI scheduler.
func KAIQueue() Kind {
	k := kai("v2", "Queue", "queues")
	k.ClusterScoped = true
	return k
}

// NodePool is what Karpenter creates nodes from.
func NodePool() Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: KarpenterGroup, Version: "v1", Kind: "NodePool"},
		Resource:         "nodepools", ClusterScoped: true, Operator: "Karpenter (https://karpenter.sh)",
	}
}

// KAIPodGroup is the group of pods that the KAI scheduler schedules together.
func KAIPodGroup() Kind { return kai("v2alpha2", "PodGroup", "podgroups") }

func kai(version, kind, resource string) Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: KAIGroup, Version: version, Kind: kind}, Resource: resource,
		Operator: "the KAI scheduler (https://github.com/kai-scheduler/KAI-Scheduler)",
	}
}
