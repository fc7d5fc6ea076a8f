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
	return ours(schema.GroupVersion{Group: KubetorchGroup, Version: "v1alpha1"}, "KubetorchWorkload")
}

// ours is a kind that the provider writes.
func ours(gv schema.GroupVersion, name string, immutable ...string) Kind {
	k := Guess(gv.WithKind(name))
	k.LabelSelector, k.Immutable = Ours, immutable
	return k
}

// core is a kind of the core group that the provider writes.
func core(name string, immutable ...string) Kind {
	return ours(corev1.SchemeGroupVersion, name, immutable...)
}

// clusterWide is a kind without namespaces, whose objects others write.
func clusterWide(gv schema.GroupVersion, name string) Kind {
	k := Guess(gv.WithKind(name))
	k.ClusterScoped = true
	return k
}

// Service is the core Service.
func Service() Kind {
	return core("Service", "spec.clusterIP", "spec.clusterIPs", "spec.loadBalancerClass")
}

// HorizontalPodAutoscaler is autoscaling/v2 HorizontalPodAutoscaler.
func HorizontalPodAutoscaler() Kind {
	return ours(autoscalingv2.SchemeGroupVersion, "HorizontalPodAutoscaler")
}

// ScaledObject is keda.sh/v1alpha1 ScaledObject of KEDA.
func ScaledObject() Kind {
	return ours(schema.GroupVersion{Group: KEDAGroup, Version: "v1alpha1"}, "ScaledObject")
}

// PodDisruptionBudget is policy/v1 PodDisruptionBudget.
func PodDisruptionBudget() Kind { return ours(policyv1.SchemeGroupVersion, "PodDisruptionBudget") }

// Ingress is networking.k8s.io/v1 Ingress.
func Ingress() Kind { return ours(networkingv1.SchemeGroupVersion, "Ingress") }

// HTTPRoute is gateway.networking.k8s.io/v1 HTTPRoute.
func HTTPRoute() Kind { return gatewayRoute("HTTPRoute") }

// GRPCRoute is gateway.networking.k8s.io/v1 GRPCRoute.
func GRPCRoute() Kind { return gatewayRoute("GRPCRoute") }

func gatewayRoute(name string) Kind {
	return ours(schema.GroupVersion{Group: gatewayGroup, Version: "v1"}, name)
}

// Gateway is gateway.networking.k8s.io/v1 Gateway.
func Gateway() Kind {
	k := gatewayRoute("Gateway").All()
	k.Resource = "gateways"
	return k
}

// IngressClass is networking.k8s.io/v1 IngressClass.
func IngressClass() Kind { return clusterWide(networkingv1.SchemeGroupVersion, "IngressClass") }

// PlainHTTP2 is the appProtocol of a port that serves HTTP/2 without TLS, such as gRPC
// (https://kubernetes.io/docs/concepts/services-networking/service/#application-protocol).
const PlainHTTP2 = "kubernetes.io/h2c"

// ServiceHost returns the DNS name of a Service in a cluster with the default domain
// (https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/).
func ServiceHost(namespace, name string) string { return name + "." + namespace + ".svc.cluster.local" }

// PersistentVolumeClaim is the core PersistentVolumeClaim. The server reports the
// whole spec as immutable, except its size and its attributes class.
func PersistentVolumeClaim() Kind { return core("PersistentVolumeClaim", "spec") }

// Secret is the core Secret.
func Secret() Kind { return core("Secret", "type", "immutable", "data") }

// SecretMetadata is the core Secret without its values.
func SecretMetadata() Kind {
	k := Secret()
	k.MetadataOnly = true
	return k
}

// ConfigMap is the core ConfigMap.
func ConfigMap() Kind { return core("ConfigMap", "immutable", "data", "binaryData") }

// Event is the core Event. The shared watch contains only warnings.
func Event() Kind {
	k := core("Event")
	k.LabelSelector, k.FieldSelector = "", "type=Warning"
	return k
}

// ScalingEvent is the core Event of an autoscaler about a pod without a node. One
// field selector cannot select warnings and these events, so they have a separate
// list and watch, which starts with the first such pod. Events of kubelets and of
// the scheduler are excluded.
func ScalingEvent() Kind {
	k := core("Event")
	k.LabelSelector, k.FieldSelector = "", "type=Normal,involvedObject.kind=Pod,"+
		"reason!=Scheduled,reason!=Pulling,reason!=Pulled,reason!=Created,reason!=Started,reason!=Killing,"+
		"reason!=BackOff"
	return k
}

// Node is the core Node.
func Node() Kind { return clusterWide(corev1.SchemeGroupVersion, "Node") }

// Namespace is the core Namespace.
func Namespace() Kind { return clusterWide(corev1.SchemeGroupVersion, "Namespace") }

// PersistentVolume is the core PersistentVolume.
func PersistentVolume() Kind { return clusterWide(corev1.SchemeGroupVersion, "PersistentVolume") }

// ServiceAccount is the core ServiceAccount.
func ServiceAccount() Kind { return core("ServiceAccount").All() }

// StorageClass is storage.k8s.io/v1 StorageClass.
func StorageClass() Kind { return clusterWide(storagev1.SchemeGroupVersion, "StorageClass") }

// KueueVersion is the version of Kueue's API in which the provider writes objects.
const KueueVersion = "v1beta2"

// LocalQueue is the kind of Kueue, in the version that the server prefers: the fields
// that the provider reads are the same in v1beta1 and v1beta2.
func LocalQueue(version string) Kind {
	return kueue(version, "LocalQueue", false, "spec.clusterQueue")
}

// ClusterQueue is the kind of Kueue; see [LocalQueue].
func ClusterQueue(version string) Kind {
	return kueue(version, "ClusterQueue", true)
}

// ResourceFlavor is the kind of Kueue; see [LocalQueue].
func ResourceFlavor(version string) Kind {
	// With a topology, its other fields are immutable. The validation rules of the CRD report that for all of spec.
	return kueue(version, "ResourceFlavor", true, "spec")
}

// AdmissionCheck is the kind of Kueue; see [LocalQueue].
func AdmissionCheck(version string) Kind {
	return kueue(version, "AdmissionCheck", true)
}

// KueueWorkload is the kind of Kueue; see [LocalQueue].
func KueueWorkload(version string) Kind { return kueue(version, "Workload", false) }

func kueue(version, name string, clusterScoped bool, immutable ...string) Kind {
	k := Guess(schema.GroupVersionKind{Group: KueueGroup, Version: version, Kind: name})
	k.ClusterScoped, k.Immutable = clusterScoped, immutable
	return k
}

// KAIQueue is the queue of the KAI scheduler.
func KAIQueue() Kind {
	return clusterWide(schema.GroupVersion{Group: KAIGroup, Version: "v2"}, "Queue")
}

// NodePool is what Karpenter creates nodes from.
func NodePool() Kind {
	return clusterWide(schema.GroupVersion{Group: KarpenterGroup, Version: "v1"}, "NodePool")
}

// KAIPodGroup is the group of pods that the KAI scheduler schedules together.
func KAIPodGroup() Kind {
	return Guess(schema.GroupVersionKind{Group: KAIGroup, Version: "v2alpha2", Kind: "PodGroup"})
}
