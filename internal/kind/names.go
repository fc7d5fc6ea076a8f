package kind

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// API groups of other projects.
const (
	KubetorchGroup       = "kubetorch.com"
	KnativeGroup         = "serving.knative.dev"
	RayGroup             = "ray.io"
	TrainingGroup        = "kubeflow.org"
	JobSetGroup          = "jobset.x-k8s.io"
	SkyTorchGroup        = "compute.skytorch.dev"
	KPUGroup             = "compute.kpu.dev"
	LeaderWorkerSetGroup = "leaderworkerset.x-k8s.io"
	KueueGroup           = "kueue.x-k8s.io"
	KAIGroup             = "scheduling.run.ai"
	KarpenterGroup       = "karpenter.sh"
	KEDAGroup            = "keda.sh"
	gatewayGroup         = "gateway.networking.k8s.io"
	autoscalingOfKnative = "autoscaling.knative.dev"
)

// Operator returns the name and address of the software that provides the kinds of a group, or "" if unknown.
func Operator(group string) string {
	return map[string]string{
		KubetorchGroup: "Kubetorch's Helm chart (https://github.com/run-house/kubetorch)",
		KnativeGroup:   "Knative Serving (https://knative.dev/docs/install/)",
		RayGroup:       "the KubeRay operator (https://docs.ray.io/en/latest/cluster/kubernetes/getting-started.html)",
		TrainingGroup: "the Kubeflow training operator, version 1 " +
			"(https://github.com/kubeflow/trainer/tree/release-1.9; MXJob up to 1.8)",
		JobSetGroup:   "JobSet (https://jobset.sigs.k8s.io/docs/installation/)",
		SkyTorchGroup: "the SkyTorch operator (https://github.com/astefanutti/skytorch)",
		KPUGroup: "the KPU operator, SkyTorch under its earlier name " +
			"(https://github.com/astefanutti/skytorch)",
		LeaderWorkerSetGroup: "LeaderWorkerSet (https://lws.sigs.k8s.io/docs/installation/)",
		KueueGroup:           "Kueue (https://kueue.sigs.k8s.io/docs/installation/)",
		KAIGroup:             "the KAI scheduler (https://github.com/kai-scheduler/KAI-Scheduler)",
		KarpenterGroup:       "Karpenter (https://karpenter.sh)",
		KEDAGroup:            "KEDA (https://keda.sh/docs/latest/deploy/)",
		gatewayGroup:         "the Gateway API (https://gateway-api.sigs.k8s.io/)",
	}[group]
}

// Labels and annotations for Kubetorch, Kueue and KAI.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedByValue = "terraform-provider-kt"

	AppLabel      = "app"
	KubetorchApp  = "kubetorch" // value of AppLabel of volumes and images
	ServiceLabel  = KubetorchGroup + "/service"
	TemplateLabel = KubetorchGroup + "/template"
	UsernameLabel = KubetorchGroup + "/username"
	VersionLabel  = KubetorchGroup + "/version"

	KueueQueueLabel = KueueGroup + "/queue-name"
	// KueueManagedLabel is a label with the value "true" of the pods that Kueue
	// manages one by one, such as those of a Deployment (pkg/constants/constants.go in
	// sigs.k8s.io/kueue).
	KueueManagedLabel = KueueGroup + "/managed"
	// KueueElasticAnnotation has the value "true" on a workload whose numbers of pods Kueue lets change
	// (Enabled in pkg/workloadslicing/workloadslicing.go in sigs.k8s.io/kueue).
	KueueElasticAnnotation = KueueGroup + "/elastic-job"
	// KueueJobUIDLabel is a label of Kueue's Workloads
	// (https://kueue.sigs.k8s.io/docs/reference/labels-and-annotations/).
	KueueJobUIDLabel = KueueGroup + "/job-uid"
	KAIQueueLabel    = "kai.scheduler/queue"

	// InactivityTTLAnnotation is also a label of the KubetorchWorkload (KT_INACTIVITY_TTL_LABEL in
	// provisioning/constants.py of Kubetorch 0.5.0).
	InactivityTTLAnnotation        = KubetorchGroup + "/inactivity-ttl"
	AllowedSerializationAnnotation = KubetorchGroup + "/allowed-serialization"
	GPUMemoryAnnotation            = "gpu-memory" // of KAI, in MiB
	ImageDigestAnnotation          = KubetorchGroup + "/image-digest"
	RestartTriggersAnnotation      = KubetorchGroup + "/restart-triggers"
	// LoggingAnnotation contains the fields of LoggingConfig of Kubetorch that its
	// CRD lacks, as JSON with the names of Kubetorch. Durations are in seconds.
	LoggingAnnotation = KubetorchGroup + "/logging"

	// BindCompletedAnnotation is set by Kubernetes on a PersistentVolumeClaim that has, or had, a volume.
	BindCompletedAnnotation = "pv.kubernetes.io/bind-completed"
)

// Label selectors of shared lists and watches.
const (
	Ours       = ManagedByLabel + "=" + ManagedByValue // top-level objects that this provider creates
	OfServices = ServiceLabel                          // objects of a Kubetorch service, of any client
)

// Schedulers of a queue, as in the attribute queue_scheduler.
const (
	QueueSchedulerKueue = "kueue"
	QueueSchedulerKAI   = "kai"
	// KAIScheduler is the schedulerName of pods that KAI schedules.
	KAIScheduler = "kai-scheduler"
)

// Names of GPUs in the device plugin and the GPU feature discovery of NVIDIA, and labels and taints of GPU nodes.
const (
	NVIDIADomain        = "nvidia.com/"
	GPUResource         = NVIDIADomain + "gpu" // also the key of a taint
	GPUProductLabel     = GPUResource + ".product"
	GPUPresentLabel     = GPUResource + ".present"
	GKEAcceleratorLabel = "cloud.google.com/gke-accelerator"
	EKSGPUCountLabel    = "eks.amazonaws.com/instance-gpu-count"
	DedicatedTaint      = "dedicated" // key of a taint
	DedicatedGPU        = "gpu"       // its value on GPU nodes
)

// GPUProductLabelOf returns the node label with the product of a device, or "" if none is known for its resource. The
// labels are those of NVIDIA's GPU feature discovery, of the node labeller in ROCm/k8s-device-plugin, and of the rules
// for Node Feature Discovery in intel/intel-device-plugins-for-kubernetes.
func GPUProductLabelOf(resource string) string {
	domain, _, _ := strings.Cut(resource, "/")
	return map[string]string{
		NVIDIADomain:     GPUProductLabel,
		"amd.com/":       "amd.com/gpu.product-name",
		"gpu.intel.com/": "gpu.intel.com/product",
	}[domain+"/"]
}

// IsGPU reports whether an extended resource counts GPUs or parts of them, by the device plugins of NVIDIA, AMD and
// Intel: nvidia.com/gpu, nvidia.com/gpu.shared, nvidia.com/mig-1g.10gb, amd.com/gpu, gpu.intel.com/xe.
func IsGPU(resource string) bool {
	domain, name, _ := strings.Cut(resource, "/")
	switch domain + "/" {
	case NVIDIADomain:
		return name == "gpu" || name == "gpu.shared" || strings.HasPrefix(name, "mig-")
	case "amd.com/":
		return name == "gpu"
	case "gpu.intel.com/":
		return name == "i915" || name == "xe"
	}
	return false
}

// Ports and the container of Kubetorch's server.
const (
	ContainerName = "kubetorch"
	ServerPort    = 32300 // port of the Kubetorch server in the pod
	ServicePort   = 80    // port of the Service of a compute
)

// HeadlessName is the name of the headless Service through which the workers of a
// distributed compute discover each other.
func HeadlessName(compute string) string { return compute + "-headless" }

// IsAccelerator reports whether an extended resource is a GPU or a similar device: one of NVIDIA's device plugin, such
// as a slice of a GPU, one with the name gpu of any vendor, or one of the device plugins of Intel, Google, Habana and
// AWS.
func IsAccelerator(resource string) bool {
	return strings.HasSuffix(resource, "/gpu") || strings.HasPrefix(resource, NVIDIADomain) ||
		strings.HasPrefix(resource, "gpu.intel.com/") || slices.Contains([]string{
		"google.com/tpu", "habana.ai/gaudi", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore"}, resource)
}

// KueueFramework returns the name of Kueue's integration for a kind, as in integrations.frameworks of its configuration
// (FrameworkName in pkg/controller/jobs of sigs.k8s.io/kueue). Kinds without one are managed by the labels of their
// pods or Jobs.
func KueueFramework(of schema.GroupKind) string {
	name := strings.ToLower(of.Kind)
	switch {
	case name == "replicaset", name == "daemonset", of.Group == KnativeGroup:
		return "pod"
	case name == "cronjob":
		return "batch/job"
	case of.Group == "", of.Group == "apps":
		return name
	}
	return of.Group + "/" + name
}

// AddRequests adds n times the quantities in more to sum.
func AddRequests(sum, more corev1.ResourceList, n int64) {
	for name, quantity := range more {
		product, total := quantity.DeepCopy(), sum[name]
		product.Mul(n)
		total.Add(product)
		sum[name] = total
	}
}

// RequiredNodeTerms returns the terms of a required node affinity, of which a node must match one. There may be none.
func RequiredNodeTerms(affinity *corev1.Affinity) []corev1.NodeSelectorTerm {
	node := ptr.Deref(ptr.Deref(affinity, corev1.Affinity{}).NodeAffinity, corev1.NodeAffinity{})
	return ptr.Deref(node.RequiredDuringSchedulingIgnoredDuringExecution, corev1.NodeSelector{}).NodeSelectorTerms
}
