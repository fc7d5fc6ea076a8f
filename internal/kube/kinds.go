package kube

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of object that the provider writes or reads, with what a
// request for it needs. The usual kinds are listed here, so that no run has to
// ask the server for its whole discovery document; [Cluster.RefOf] finds others.
type Kind struct {
	schema.GroupVersionKind
	// Resource is the plural of the REST path.
	Resource string
	// LabelSelector and FieldSelector restrict the shared list and watch to
	// objects that can concern us.
	LabelSelector, FieldSelector string
	// ClusterScoped kinds have no namespace.
	ClusterScoped bool
	// Grace is how many seconds a deletion asks for; zero: as many as the kind itself says.
	Grace int64
	// Immutable lists the fields that Kubernetes never lets change after
	// creation, as the causes of an Invalid status or the field errors of a
	// webhook name them. Changing one means replacing the object.
	Immutable []string
}

// The labels by which the shared lists and watches select.
const (
	ours    = "app.kubernetes.io/managed-by=terraform-provider-kt" // the top-level objects that this provider creates
	service = "kubetorch.com/service"                              // what runs for a Kubetorch service, whoever made it
)

// queueName is a label that Kueue's webhooks let nobody change while a workload
// is admitted (https://kueue.sigs.k8s.io/docs/reference/labels-and-annotations/).
const queueName = "metadata.labels[kueue.x-k8s.io/queue-name]"

// workload is a kind that runs pods, and that we write.
func workload(group, version, kind, resource string, immutable ...string) Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: group, Version: version, Kind: kind},
		Resource:         resource, LabelSelector: ours,
		Immutable: append([]string{queueName}, immutable...),
	}
}

// Deployment is apps/v1 Deployment.
func Deployment() Kind {
	return workload("apps", "v1", "Deployment", "deployments", "spec.selector")
}

// StatefulSet is apps/v1 StatefulSet. The server names only the spec as a whole
// where a field other than a few changes.
func StatefulSet() Kind {
	return workload("apps", "v1", "StatefulSet", "statefulsets", "spec")
}

// DaemonSet is apps/v1 DaemonSet.
func DaemonSet() Kind {
	return workload("apps", "v1", "DaemonSet", "daemonsets", "spec.selector")
}

// ReplicaSet is apps/v1 ReplicaSet. The shared watch holds those of Kubetorch
// services: Deployments give theirs the labels of their pods, and ours carry
// them too.
func ReplicaSet() Kind {
	k := workload("apps", "v1", "ReplicaSet", "replicasets", "spec.selector")
	k.LabelSelector = service
	return k
}

// Job is batch/v1 Job. Its template and completions may change only in the
// cases that the server itself knows.
func Job() Kind {
	return workload("batch", "v1", "Job", "jobs",
		"spec.template", "spec.selector", "spec.completions", "spec.completionMode", "spec.podFailurePolicy",
		"spec.backoffLimitPerIndex", "spec.managedBy", "spec.successPolicy")
}

// CronJob is batch/v1 CronJob.
func CronJob() Kind { return workload("batch", "v1", "CronJob", "cronjobs") }

// Pod is the core Pod; the shared watch holds pods of Kubetorch services, ours
// and those that controllers make.
func Pod() Kind {
	k := workload("", "v1", "Pod", "pods",
		"spec", "spec.containers", "spec.initContainers", "spec.ephemeralContainers", "spec.nodeName", "spec.nodeSelector", "spec.affinity",
		"spec.tolerations", "spec.schedulingGates", "spec.activeDeadlineSeconds", "spec.terminationGracePeriodSeconds")
	k.LabelSelector = service
	return k
}

// KnativeService is serving.knative.dev/v1 Service.
func KnativeService() Kind { return workload("serving.knative.dev", "v1", "Service", "services") }

// RayCluster is ray.io/v1 RayCluster.
func RayCluster() Kind { return workload("ray.io", "v1", "RayCluster", "rayclusters") }

// trainingGroup is the group of the Kubeflow training operator.
const trainingGroup = "kubeflow.org"

// trainingJob is a kind of the Kubeflow training operator.
func trainingJob(kind, resource string) Kind {
	return workload(trainingGroup, "v1", kind, resource, "spec.runPolicy.managedBy")
}

// PyTorchJob is kubeflow.org/v1 PyTorchJob.
func PyTorchJob() Kind { return trainingJob("PyTorchJob", "pytorchjobs") }

// TFJob is kubeflow.org/v1 TFJob.
func TFJob() Kind { return trainingJob("TFJob", "tfjobs") }

// MXJob is kubeflow.org/v1 MXJob, which the training operator has until 1.8.
func MXJob() Kind { return trainingJob("MXJob", "mxjobs") }

// XGBoostJob is kubeflow.org/v1 XGBoostJob.
func XGBoostJob() Kind { return trainingJob("XGBoostJob", "xgboostjobs") }

// JobSet is jobset.x-k8s.io/v1alpha2 JobSet.
func JobSet() Kind {
	return workload("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets",
		"spec.replicatedJobs", "spec.managedBy", "spec.network", "spec.successPolicy", "spec.failurePolicy", "spec.startupPolicy",
		"spec.coordinator", "spec.volumeClaimPolicies")
}

// tensorServer is the kind of an operator that runs a tensor server. Its grace
// is that of the operators' own Python clients (skytorch/client/compute.py in
// github.com/astefanutti/skytorch), and of the pods.
func tensorServer(group string) Kind {
	k := workload(group, "v1alpha1", "Compute", "computes")
	k.Grace = 30
	return k
}

// SkyTorchCompute is compute.skytorch.dev/v1alpha1 Compute.
func SkyTorchCompute() Kind { return tensorServer("compute.skytorch.dev") }

// KPUCompute is compute.kpu.dev/v1alpha1 Compute.
func KPUCompute() Kind { return tensorServer("compute.kpu.dev") }

// RunsTensorServer says whether an operator runs a tensor server for an object
// of this kind.
func (k Kind) RunsTensorServer() bool {
	return k.GroupKind() == SkyTorchCompute().GroupKind() || k.GroupKind() == KPUCompute().GroupKind()
}

// knowsItsPods says whether the status of an object of this kind alone tells
// that its pods are ready. That of a tensor server counts pods of any template,
// that of a training job those that crash again and again.
func (k Kind) knowsItsPods() bool { return !k.RunsTensorServer() && k.Group != trainingGroup }

// operatedStatefulSet is the StatefulSet that an operator makes for a tensor
// server; those of Kubetorch services carry the labels of their compute.
func operatedStatefulSet() Kind {
	k := StatefulSet()
	k.LabelSelector = service
	return k
}

// KubetorchWorkload is kubetorch.com/v1alpha1 KubetorchWorkload, by which
// Kubetorch's controller knows a service.
func KubetorchWorkload() Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "kubetorch.com", Version: "v1alpha1", Kind: "KubetorchWorkload"},
		Resource:         "kubetorchworkloads", LabelSelector: ours,
	}
}

// core is a kind of the core group that we write.
func core(kind, resource string, immutable ...string) Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: kind},
		Resource:         resource, LabelSelector: ours, Immutable: immutable,
	}
}

// Service is the core Service.
func Service() Kind { return core("Service", "services", "spec.clusterIP", "spec.clusterIPs") }

// PersistentVolumeClaim is the core PersistentVolumeClaim. The server names the
// spec as a whole for all but its size and its attributes class.
func PersistentVolumeClaim() Kind {
	return core("PersistentVolumeClaim", "persistentvolumeclaims", "spec")
}

// Secret is the core Secret. The shared watch holds none but ours.
func Secret() Kind { return core("Secret", "secrets", "type", "immutable", "data") }

// ConfigMap is the core ConfigMap.
func ConfigMap() Kind { return core("ConfigMap", "configmaps", "immutable", "data", "binaryData") }

// Event is the core Event. The shared watch holds warnings.
func Event() Kind {
	k := core("Event", "events")
	k.LabelSelector, k.FieldSelector = "", "type=Warning"
	return k
}

// scalingEvent is the core Event of an autoscaler about a pod that has no node.
// One field selector cannot ask for warnings and these, so they have a list and
// watch of their own, which starts with the first such pod. What kubelets and the
// scheduler say of every pod is left out.
func scalingEvent() Kind {
	k := core("Event", "events")
	k.LabelSelector, k.FieldSelector = "", "type=Normal,involvedObject.kind=Pod,"+
		"reason!=Scheduled,reason!=Pulling,reason!=Pulled,reason!=Created,reason!=Started,reason!=Killing,reason!=BackOff"
	return k
}

// Node is the core Node.
func Node() Kind {
	k := core("Node", "nodes")
	k.LabelSelector, k.ClusterScoped = "", true
	return k
}

// ServiceAccount is the core ServiceAccount.
func ServiceAccount() Kind {
	k := core("ServiceAccount", "serviceaccounts")
	k.LabelSelector = ""
	return k
}

// written are the kinds that the provider writes without asking the server what
// they are called.
func written() []Kind {
	return []Kind{
		Deployment(), StatefulSet(), DaemonSet(), ReplicaSet(), Job(), CronJob(), Pod(),
		KnativeService(), RayCluster(), PyTorchJob(), TFJob(), MXJob(), XGBoostJob(), JobSet(), SkyTorchCompute(), KPUCompute(), KubetorchWorkload(),
		Service(), PersistentVolumeClaim(), Secret(), ConfigMap(),
	}
}

// KindOf finds the kind of an object among those that need no discovery.
func KindOf(obj *unstructured.Unstructured) (Kind, error) {
	for _, kind := range written() {
		if kind.GroupVersionKind == obj.GroupVersionKind() {
			return kind, nil
		}
	}
	return Kind{}, fmt.Errorf("%s is not a kind that this provider knows", obj.GroupVersionKind())
}

// Word is how messages name the kind: its Kind, and Knative Service for the one
// that shares its Kind with a core one.
func (k Kind) Word() string {
	if k.Group == KnativeService().Group {
		return "Knative " + k.Kind
	}
	return k.Kind
}

// Argument is how a kubectl command names the kind, with its group where
// another kind could be meant: deployments, services.serving.knative.dev.
func (k Kind) Argument() string {
	if strings.Contains(k.Group, ".") {
		return k.Resource + "." + k.Group
	}
	return k.Resource
}

// runsPods says whether pods belong to an object of this kind.
func (k Kind) runsPods() bool {
	return !slices.Contains([]schema.GroupKind{
		Service().GroupKind(), Secret().GroupKind(), ConfigMap().GroupKind(), PersistentVolumeClaim().GroupKind(), KubetorchWorkload().GroupKind(),
	}, k.GroupKind())
}

// Ref names one object.
type Ref struct {
	Kind      Kind
	Namespace string
	Name      string
}

// RefOf names obj, of a kind that needs no discovery.
func RefOf(obj *unstructured.Unstructured) (Ref, error) {
	kind, err := KindOf(obj)
	return Ref{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}, err
}

// String is how messages name the object, Deployment ml/trainer, and without a
// name all of the kind: deployments in namespace ml.
func (r Ref) String() string {
	switch {
	case r.Name == "" && r.Kind.Resource != "" && r.Namespace == "":
		return r.Kind.Resource
	case r.Name == "" && r.Kind.Resource != "":
		return r.Kind.Resource + " in namespace " + r.Namespace
	case r.Namespace == "":
		return r.Kind.Word() + " " + r.Name
	default:
		return r.Kind.Word() + " " + r.Namespace + "/" + r.Name
	}
}

func (r Ref) gvr() schema.GroupVersionResource {
	return r.Kind.GroupVersion().WithResource(r.Kind.Resource)
}
