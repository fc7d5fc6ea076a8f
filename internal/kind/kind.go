// Package kind is the one table of the kinds of objects that the provider writes
// and reads: what a request for a kind needs, and how a workload runs its pods.
// It is pure and imports no other package of the project. A kind of workload is
// one file with its row.
package kind

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of object, with what a request for it needs. Rows of the table
// are shared: nothing in them may be written to.
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
	// Operator is what to install so that a cluster has the kind, with its
	// address; "" for a kind of Kubernetes itself. One row of a group is enough.
	Operator string

	// Workload is how an object of the kind runs pods; nil where it runs none, and
	// for kinds that are not in the table.
	*Workload
}

// Workload is how the objects of a kind run their pods.
type Workload struct {
	Mode     string // the attribute mode
	Template string // Kubetorch's name for it, in the label kubetorch.com/template
	// ResourceKind is the kind as Kubetorch's controller knows it; "": by its Kind.
	ResourceKind string
	// Container is the name of the main container.
	Container string
	// Server is of a kind whose operator runs a tensor server; nil: pods run
	// Kubetorch's server.
	Server *TensorServer

	// Picks tells whether a compute without a manifest of the user's is run
	// this way. The first row wins. Nil: only a manifest asks for this kind.
	Picks func(Compute) bool
	// Spec is the spec of the workload, pods included, where Picks is not nil. It
	// is nil for tensor servers.
	Spec func(Compute) (map[string]any, error)
	// Complete adds to a manifest of the user's what the kind needs beside its
	// pods; it may be nil.
	Complete func(Compute, map[string]any)
	// Autoscales tells whether the attribute autoscale is for this kind.
	Autoscales bool
	// Distribution is the type of distribute that needs this kind; "": none does.
	Distribution string
	// ScriptRemark is a comment that the start-up script needs in the pods of
	// this kind; it may be "".
	ScriptRemark string

	// Groups are the pods of a workload, those of the main container first.
	Groups func(workload map[string]any) []Group
	// Scales tells whether the number of the pods can be asked for.
	Scales bool
	// Suspension changes a rendered workload so that none of its pods run;
	// empty where that cannot be.
	Suspension []Setting
	// Admitted tells whether Kueue lets a workload run by taking back its
	// suspension (https://kueue.sigs.k8s.io/docs/concepts/workload/). It is given
	// at creation then, and left to Kueue ever after. One that the user suspends
	// leaves the queue, or Kueue would start it all the same.
	Admitted bool

	// Fixed are fields that no service_template may change, besides those that
	// hold for all kinds.
	Fixed [][]string
	// Lasting are fields that the API server lets change, but whoever runs the
	// workload does not.
	Lasting [][]string
	// Unserved are fields that are rendered because Kubetorch renders them,
	// although no release of the kind's CRD has them. Server-side apply refuses an
	// object with such a field, so they must not be sent.
	Unserved [][]string
	// KeepsPods tells whether pods that run stay as they are when their template
	// changes, since only new ones are made from it; nil: they do not.
	KeepsPods func(workload map[string]any) bool

	// Selects tells whether spec.selector finds the pods.
	Selects bool
	// Route narrows the Service to the pods that take calls; nil: all do.
	Route func(workload map[string]any) map[string]string
	// RouteLabels are the labels that Route selects by.
	RouteLabels []string
	// OwnService tells whether the controller of the kind makes a Service of
	// the workload's name itself.
	OwnService bool

	// Children are what stands between the workload and its pods, by kind: how
	// controllers name it after the workload, as a pattern for the rest of the name.
	Children map[string]*regexp.Regexp
	// Parts are those children that say more than the workload; nil: none do.
	Parts *Parts
	// ReplicaSets tells whether the pods are those of ReplicaSets of the workload.
	ReplicaSets bool
	// PodsDecide tells whether the status of the workload may say that it is ready
	// while its pods are not.
	PodsDecide bool
	// Readiness is how its readiness is judged.
	Readiness Readiness
}

// TensorServer is what differs between the operators of tensor servers.
type TensorServer struct {
	Runtime   string // the attribute runtime
	Name      string // value of the label app.kubernetes.io/name of the pods
	EnvPrefix string // of the variables that the operator sets itself
	Override  bool   // whether the spec has override and volumeClaimTemplates
}

// A Setting is a field and the value that it is given; nil removes it.
type Setting struct {
	Path  []string
	Value any
}

// Parts are objects between a workload and its pods.
type Parts struct {
	Kind Kind
	// Label is the label of a part that holds the name of its workload. "": a part
	// has the name of its workload, which controls it.
	Label string
}

// Readiness is how the readiness of a kind is judged. The functions are in
// internal/kube/ready.
type Readiness int

// The ways to judge readiness.
const (
	// ByConventions goes by the conditions and counts that most kinds have
	// alike, and by the pods where the status says neither.
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
	OfTrainingJob
	OfTensorServer
)

// Compute is what a kind has to know of a compute to run it.
type Compute struct {
	Name    string
	Runtime string
	// Autoscale and Selector tell whether the attribute is set.
	Autoscale, Selector bool
	Distribution        string         // type of distribute; "" without one
	DistributionArgs    map[string]any // args of distribute
	Concurrency         *int64         // of autoscale

	// Replicas is how many pods are asked for. ReplicasGiven tells whether an
	// attribute asks, rather than the manifest or the default.
	Replicas      int64
	ReplicasGiven bool
	DesignedFor   int64 // pods that the compute has when nothing is suspended; zero: Replicas

	PodLabels   map[string]string // by which spec.selector finds the pods
	QueueLabels map[string]string
	// Subdomain is the Service by which distributed workers find one another; ""
	// where there is none.
	Subdomain string
	// PodTemplate is the template of the pods: of those that take calls, or of workers.
	PodTemplate func(worker bool) (map[string]any, error)
}

// RunsPods tells whether pods belong to an object of this kind. Those of a kind
// that is not in the table do.
func (k Kind) RunsPods() bool {
	of, known := Of(k.GroupKind())
	return !known || of.Workload != nil
}

// RunsTensorServer tells whether an operator runs a tensor server for an object
// of this kind.
func (k Kind) RunsTensorServer() bool { return WorkloadOf(k.GroupKind()).Server != nil }

// StatusSuffices tells whether the status of an object of this kind alone tells
// that its pods are ready.
func (k Kind) StatusSuffices() bool { return !WorkloadOf(k.GroupKind()).PodsDecide }

// Custom tells whether a kind is no part of Kubernetes: the groups of its
// workloads have no dot.
func (k Kind) Custom() bool { return strings.Contains(k.Group, ".") }

// Word is how messages name the kind: its Kind, and Knative Service for the one
// that shares its Kind with a core one.
func (k Kind) Word() string {
	if k.Group == KnativeGroup {
		return "Knative " + k.Kind
	}
	return k.Kind
}

// Argument is how a kubectl command names the kind, with its group where
// another kind could be meant: deployments, services.serving.knative.dev.
func (k Kind) Argument() string {
	if k.Custom() {
		return k.Resource + "." + k.Group
	}
	return k.Resource
}

// workload is a kind that runs pods, and that we write.
func workload(gv schema.GroupVersion, name, resource string, w *Workload, immutable ...string) Kind {
	return Kind{
		GroupVersionKind: gv.WithKind(name), Resource: resource, LabelSelector: Ours,
		Immutable: append([]string{"metadata.labels[" + KueueQueueLabel + "]"}, immutable...),
		Workload:  w,
	}
}

// children compiles the patterns of [Workload.Children].
func children(patterns map[string]string) map[string]*regexp.Regexp {
	compiled := make(map[string]*regexp.Regexp, len(patterns))
	for name, pattern := range patterns {
		compiled[name] = regexp.MustCompile(pattern)
	}
	return compiled
}
