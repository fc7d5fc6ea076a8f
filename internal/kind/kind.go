// Package kind contains the table of all kinds of objects that the provider
// writes and reads: the properties that requests need, and how a workload runs
// its pods. It has no side effects and imports no other package of the project.
// Each kind of workload has one file with its row.
package kind

import (
	"cmp"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of object, with the properties that requests need. Rows of the
// table are shared and must not be modified.
type Kind struct {
	schema.GroupVersionKind
	// Resource is the plural name in the REST path.
	Resource string
	// LabelSelector and FieldSelector restrict the shared list and watch to
	// relevant objects.
	LabelSelector, FieldSelector string
	// MetadataOnly excludes everything but the metadata from the shared list and
	// watch.
	MetadataOnly bool
	// ClusterScoped kinds have no namespace.
	ClusterScoped bool
	// Grace is the grace period of a deletion in seconds. Zero means the default
	// of the kind.
	Grace int64
	// Immutable lists the immutable fields, with their names in the causes of an
	// Invalid status or in the field errors of a webhook. Changing one requires
	// replacing the object.
	Immutable []string

	// Workload describes how an object of the kind runs pods. It is nil for kinds
	// without pods, and for kinds that are not in the table.
	*Workload
}

// Workload describes how the objects of a kind run their pods.
type Workload struct {
	Mode     string // the attribute mode; by default the kind in lower case
	Template string // Kubetorch's name for it, in the label kubetorch.com/template; by default the mode
	// ResourceKind is the name of the kind in Kubetorch's controller; "" means Kind.
	ResourceKind string
	// Container is the name of the main container, by default that of Kubetorch.
	Container string
	// Server is set for a kind whose operator runs a tensor server. If nil, pods
	// run Kubetorch's server.
	Server *TensorServer

	// Picks reports whether a compute without a manifest uses this kind. The first
	// matching row is used. If nil, only a manifest selects the kind.
	Picks func(Compute) bool
	// Spec returns the spec of the workload of a compute without a manifest, before
	// Complete and without its pods. It is nil for tensor servers.
	Spec func(Compute) map[string]any
	// ReadAsManifest reports that an import reads a workload as a manifest unless only attributes render it again,
	// although Picks is set: a difference would replace it.
	ReadAsManifest bool
	// Ends reports whether the pods of a workload run to their end.
	Ends bool
	// Complete adds the fields that the kind requires to a manifest, in addition to
	// its pods. It may be nil.
	Complete func(Compute, map[string]any)
	// Defaults are the fields below spec that the API server sets to these values in a
	// workload of Kubernetes that omits them
	// (https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/). Other kinds have none.
	Defaults map[string]any
	// Autoscales reports whether the kind scales itself with its load.
	Autoscales bool
	// Distribution is the type of distribute that requires this kind, or "".
	Distribution string
	// ScriptRemark is a comment for the startup script of the pods of this kind,
	// or "".
	ScriptRemark string

	// Groups returns the groups of pods of a workload, the group with the main
	// container first.
	Groups func(workload map[string]any) []Group
	// Scales reports whether the number of pods can be set.
	Scales bool
	// Suspension contains the settings that stop all pods of a workload. Empty if the
	// kind cannot be suspended.
	Suspension []Setting
	// Unscaled reports whether the controllers of the pods lack the subresource scale,
	// without which Kubernetes can compute neither the percentages nor the
	// maxUnavailable of a PodDisruptionBudget
	// (https://kubernetes.io/docs/tasks/run-application/configure-pdb/).
	Unscaled bool
	// Scale is the path of the number that the subresource scale of the workload sets. Empty if it has none, or if the
	// kind scales itself.
	Scale []string
	// Strategy is the path of the strategy by which pods are replaced. Empty if it cannot be chosen.
	Strategy []string
	// Admitted reports whether Kueue starts a workload by resuming it
	// (https://kueue.sigs.k8s.io/docs/concepts/workload/). Then the field is set at
	// creation only, and Kueue owns it afterwards. A workload that the user suspends
	// leaves the queue, because Kueue would start it otherwise.
	Admitted bool

	// Refuses contains the operations that the kind does not support.
	Refuses map[Operation]Refusal
	// Restart returns how the pods are replaced without another change. It is nil if the kind refuses it.
	Restart func(workload map[string]any) Restart
	// Paused is the path of a field that stops rollouts if it is true, or nil.
	Paused []string
	// RefusesSome contains the operations that the kind supports only for some workloads. The functions return nil for
	// these.
	RefusesSome map[Operation]func(workload map[string]any) *Refusal
	// KeepsRunning reports whether running pods continue after a suspension.
	KeepsRunning bool

	// Fixed are fields that service_template must not change, in addition to those
	// of all kinds.
	Fixed [][]string
	// CreationOnly are fields that the API server allows to change, but whose
	// changes the controller ignores.
	CreationOnly [][]string
	// LongestName is the length of a name that the controller accepts, if it is shorter than that of a Service; or 0.
	LongestName int
	// Unserved are fields that are rendered because Kubetorch renders them,
	// although no release of the kind's CRD has them. Server-side apply refuses an
	// object with such a field, so they must not be sent.
	Unserved [][]string
	// KeepsPods reports whether running pods are kept if their template changes,
	// because only new pods use it. Nil means that they are replaced.
	KeepsPods func(workload map[string]any) bool

	// Selects reports whether spec.selector selects the pods.
	Selects bool
	// PodLabel is the label with which the controller of the kind marks all pods of a workload, or "". Its value is the
	// name of the workload, or the text at PodLabelFrom.
	PodLabel     string
	PodLabelFrom []string
	// Route restricts the Service to the pods that receive calls. Nil means all pods.
	Route func(workload map[string]any) map[string]string
	// RouteLabels are the labels that Route selects by.
	RouteLabels []string
	// OwnService reports whether the controller of the kind creates a Service with
	// the name of the workload.
	OwnService bool
	// Distributed reports that Kubetorch distributes calls over the pods without distribute, if there are several.
	Distributed bool
	// Headless returns the name of the headless Service that the controller of the
	// kind creates for the pods of a workload, or "". Nil means none.
	Headless func(workload map[string]any) string

	// Children are the kinds of objects between the workload and its pods, each with
	// the pattern of the suffix that controllers add to the name of the workload.
	Children map[string]*regexp.Regexp
	// Parts are the children whose status has more details than the workload.
	Parts *Parts
	// ReplicaSets reports whether ReplicaSets of the workload manage the pods.
	ReplicaSets bool
	// PodsDecide reports whether the status of the workload can be ready while its
	// pods are not.
	PodsDecide bool
	// Readiness selects the function that assesses its readiness.
	Readiness Readiness
}

// TensorServer contains the differences between the operators of tensor servers.
type TensorServer struct {
	Runtime   string // the attribute runtime
	Name      string // value of the label app.kubernetes.io/name of the pods
	EnvPrefix string // of the variables that the operator sets itself
	Runner    Runners
}

// Setting is a field and its new value; nil removes the field.
type Setting struct {
	Path  []string
	Value any
}

// Parts are objects between a workload and its pods.
type Parts struct {
	Kind Kind
	// Label is the label of a part that contains the name of its workload. If empty,
	// a part has the name of its workload, which controls it.
	Label string
}

// Readiness selects how the readiness of a kind is assessed. The functions are
// in internal/kube/ready.
type Readiness int

// Values of Readiness.
const (
	// ByConventions uses the conditions and counts that most kinds share, and the
	// pods if the status has neither.
	ByConventions Readiness = iota
	OfDeployment
	OfStatefulSet
	OfDaemonSet
	OfReplicaSet
	OfPod
	OfJob
	OfCronJob
	OfJobSet
	OfLeaderWorkerSet
	OfKnativeService
	OfRayCluster
	OfRayJob
	OfTrainingJob
	OfTensorServer
)

// Compute contains the properties of a compute that a kind needs to run it.
type Compute struct {
	Name    string
	Runtime string
	// Autoscale reports whether Knative scales the compute, and Selector whether the attribute is set.
	Autoscale, Selector bool
	Job                 map[string]any // fields of the spec of a Job; nil without the attribute
	Distribution        string         // type of distribute; "" without one
	DistributionArgs    map[string]any // args of distribute
	Concurrency         *int64         // of autoscale

	// Replicas is the requested number of pods. ReplicasGiven reports whether an
	// attribute sets it, and not the manifest or the default.
	Replicas      int64
	ReplicasGiven bool

	Strategy                 string // by which pods are replaced; "" for the default
	MaxSurge, MaxUnavailable string // numbers of pods or percentages; "" for the default
	Serves                   bool   // the pods serve requests independently of each other
	GPUs                     bool   // the pods request GPUs
	QueueLabels              map[string]string
	// Subdomain is the Service with which distributed workers resolve each other,
	// or "".
	Subdomain string
}

// RunsPods reports whether an object of this kind has pods. It returns true for
// kinds that are not in the table.
func (k Kind) RunsPods() bool {
	of, known := Of(k.GroupKind())
	return !known || of.Workload != nil
}

// RunsTensorServer reports whether an operator runs a tensor server for an
// object of this kind.
func (k Kind) RunsTensorServer() bool { return WorkloadOf(k.GroupKind()).Server != nil }

// StatusSuffices reports whether the status of an object of this kind is
// sufficient to determine that its pods are ready.
func (k Kind) StatusSuffices() bool { return !WorkloadOf(k.GroupKind()).PodsDecide }

// Custom reports whether a kind is not part of Kubernetes. The groups of the
// workloads of Kubernetes have no dot.
func (k Kind) Custom() bool { return strings.Contains(k.Group, ".") }

// All returns the kind for objects with and without the labels of the provider.
func (k Kind) All() Kind {
	k.LabelSelector = ""
	return k
}

// Named returns an object of this kind with its identity only.
func (k Kind) Named(namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(k.GroupVersionKind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// Word returns the name of the kind in messages: its Kind, or Knative Service
// for the kind with the same name as a core kind.
func (k Kind) Word() string {
	if k.Group == KnativeGroup {
		return "Knative " + k.Kind
	}
	return k.Kind
}

// Argument returns the name of the kind for kubectl, with its group if the name
// is ambiguous: deployments, services.serving.knative.dev.
func (k Kind) Argument() string {
	if k.Custom() {
		return k.Resource + "." + k.Group
	}
	return k.Resource
}

// workload returns a kind that runs pods, and that the provider writes. It sets the defaults of the row.
func workload(gv schema.GroupVersion, name string, w *Workload, immutable ...string) Kind {
	w.Mode = cmp.Or(w.Mode, strings.ToLower(name))
	w.Template = cmp.Or(w.Template, w.Mode)
	w.Container = cmp.Or(w.Container, ContainerName)
	k := ours(gv, name, append([]string{"metadata.labels[" + KueueQueueLabel + "]"}, immutable...)...)
	k.Workload = w
	return k
}

// children compiles the patterns of [Workload.Children].
func children(patterns map[string]string) map[string]*regexp.Regexp {
	return EachValue(patterns, regexp.MustCompile)
}
