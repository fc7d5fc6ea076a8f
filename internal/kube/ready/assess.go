// Package ready determines whether a workload is ready, and otherwise what
// blocks it. Its functions are pure: they map objects to a verdict, and access
// neither the cluster, nor the clock, nor Terraform. The caller takes
// snapshots, requests a verdict on each, and measures the time.
package ready

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Snapshot contains the known state of one workload at one moment. It is never
// modified, and no list contains nil. All fields except Workload are optional;
// without them the verdict is less specific.
type Snapshot struct {
	// Workload is the live object, or nil if it has not been observed.
	Workload *unstructured.Unstructured
	// ReplicaSets are the ReplicaSets of the workload, including old ones. They
	// identify the pods of the current template exactly. If nil (unknown), the
	// conditions of the Deployment are used instead.
	ReplicaSets []*appsv1.ReplicaSet
	// Pods are the workload's pods of any age and revision, in any order.
	Pods []*corev1.Pod
	// Events are the events of the workload, its ReplicaSets, pods and claims, in
	// any order. Warnings are most relevant. The useful Normal events are
	// NotTriggerScaleUp and TriggeredScaleUp (pods), Pulling (pods, from kubelets
	// before 1.29) and FailedBinding (claims).
	Events []*corev1.Event
	// Nodes are all nodes of the cluster, or nil if unknown (no permission to list
	// them).
	Nodes []*corev1.Node
	// Claims are the claims that the pods use, by name. A nil value means that the
	// claim does not exist. An absent key means that it is unknown.
	Claims map[string]*corev1.PersistentVolumeClaim
	// Parts are objects between the workload and its pods with more detailed
	// status: the Revisions of a Knative Service, the StatefulSet of a tensor
	// server.
	Parts []*unstructured.Unstructured
	// Queue is the queue of the workload, or nil if it has none or the queue is
	// unknown.
	Queue *Queue
	// Autoscaler reports whether a known component adds nodes on demand (a cluster
	// autoscaler or Karpenter). Pods that no current node can run may then still
	// be scheduled.
	Autoscaler bool
	// NodePools are all NodePools of Karpenter, or nil if unknown.
	NodePools []*unstructured.Unstructured
	// FixedNodes reports whether it is known that no nodes are added.
	FixedNodes bool
}

// Verdict reports whether the workload is ready, and otherwise what blocks it.
type Verdict struct {
	Ready     bool
	Complete  bool   // whether it has run to its end; implies Ready
	Succeeds  bool   // whether it can only complete, but has not yet; implies Ready
	Suspended bool   // no pods are requested, and none are left
	Message   string // one line of progress: "1 of 3 pods ready: 2 pulling an image"
	Cause     *Cause // nil if ready, or progressing without a problem
}

// Settled reports whether the wait is over: the workload is ready or suspended.
func (v Verdict) Settled() bool { return v.Ready || v.Suspended }

// Cause is a problem that prevents a workload from becoming ready.
type Cause struct {
	Reason  string      // machine-readable, one of the Reason constants
	Object  string      // object that shows the problem: "Pod ml/svc-abc"
	Subject string      // subject of the problem, independent of the pod that shows it: an image, a Secret, a claim
	Summary string      // observation, in one or two sentences
	Hint    advice.Text // next step; zero if there is none
	Command string      // kubectl command to investigate with

	// Terminal reports whether the problem is permanent. It ends a wait only after
	// it was observed for Grace without interruption. A zero Grace ends the wait
	// immediately.
	Terminal bool
	Grace    time.Duration

	// Fields are the affected fields, as paths in spec.override of the object. Set
	// for [ReasonOperatorDrops].
	Fields []string

	// Claimed reports that only events show the problem, or a condition that may
	// be outdated. Whoever may write events can write any text, so a caller
	// confirms it before the wait ends.
	Claimed bool
	// Missing is the object whose absence is the cause. A caller that can read it
	// may check that it is still missing before the wait ends.
	Missing *Ref
	// Logs references the container whose log lines help; nil if none do.
	Logs *LogRef
	// Events are the last relevant events, oldest first, at most five, without
	// ages: "BackOff: Back-off pulling image … (x3)".
	Events []string
}

// Key identifies a cause over time. It is the same if another pod shows the
// same problem, so that a replaced pod does not restart a grace period. It
// changes when a temporary cause becomes permanent, so that the grace period
// starts then.
func (c *Cause) Key() string {
	key := c.Reason + " " + cmp.Or(c.Subject, c.Object)
	if !c.Terminal {
		return key + " (temporary)"
	}
	return key
}

// Ref references an object, and optionally a key, if only the key of a Secret
// or ConfigMap is missing.
type Ref struct {
	Kind, Namespace, Name string
	Key                   string
}

// LogRef references the log of a container.
type LogRef struct {
	Namespace, Pod, Container string
	Previous                  bool  // log of the run before the last restart
	Restarts                  int32 // restarts of the container at that time
}

// Reasons of causes.
const (
	ReasonInvalidImageName      = "InvalidImageName"
	ReasonImagePullFailed       = "ImagePullFailed"
	ReasonConfigError           = "ConfigError"          // missing Secret, ConfigMap or key of a container
	ReasonContainerStartFailed  = "ContainerStartFailed" // the runtime cannot start the container
	ReasonMountFailed           = "MountFailed"
	ReasonSandboxFailed         = "SandboxFailed" // network or runtime class
	ReasonCrashLoop             = "CrashLoop"
	ReasonContainerExited       = "ContainerExited" // once; it may not recur
	ReasonOutOfMemory           = "OutOfMemory"
	ReasonProbeFailing          = "ProbeFailing"
	ReasonQuotaExceeded         = "QuotaExceeded"
	ReasonServiceAccountMissing = "ServiceAccountMissing"
	ReasonPodsRefused           = "PodsRefused"
	ReasonUnschedulable         = "Unschedulable"      // no node can ever run a pod
	ReasonWaitingForCapacity    = "WaitingForCapacity" // no node can run a pod now
	ReasonVolumeMissing         = "VolumeMissing"
	ReasonVolumeNotBound        = "VolumeNotBound"
	ReasonQueued                = "Queued"
	ReasonQueueMissing          = "QueueMissing"
	ReasonQueueInactive         = "QueueInactive"
	ReasonQueueShort            = "QueueShort"   // the request exceeds the quota of the queue
	ReasonQueueShared           = "QueueShared"  // the request needs quota that other workloads may use
	ReasonPodsMissing           = "PodsMissing"  // no pods match a selector
	ReasonPodsStarting          = "PodsStarting" // pods that match a selector are starting
	ReasonPaused                = "Paused"
	ReasonPodFailed             = "PodFailed" // evicted, or rejected by its node
	ReasonNodeNotReady          = "NodeNotReady"
	ReasonFailed                = "Failed" // reported by the workload
	ReasonOperatorSilent        = "OperatorSilent"
	ReasonRolloutBlocked        = "RolloutBlocked"      // in a StatefulSet with ordered pod management
	ReasonOperatorDrops         = "OperatorDropsFields" // it does not apply fields of its object
	ReasonGatewayNotReady       = "GatewayNotReady"
	ReasonScalingInactive       = "ScalingInactive" // an autoscaler cannot compute a number of pods
	ReasonScalingLimited        = "ScalingLimited"  // an autoscaler has reached its maximum
)

// assessors are the functions that assess readiness by kind. Other kinds are
// assessed by kstatus and by their pods.
func assessors() map[kind.Readiness]func(*unstructured.Unstructured) assessor {
	return map[kind.Readiness]func(*unstructured.Unstructured) assessor{
		kind.ByConventions:     undecoded(anyKind),
		kind.OfDeployment:      deployment,
		kind.OfStatefulSet:     decoding(statefulSet),
		kind.OfDaemonSet:       decoding(daemonSet),
		kind.OfReplicaSet:      decoding(replicaSet),
		kind.OfPod:             decoding(singlePod),
		kind.OfJob:             decoding(job),
		kind.OfCronJob:         undecoded(cronJob),
		kind.OfLeaderWorkerSet: decoding(leaderWorkerSet),
		kind.OfKnativeService:  decoding(knativeService),
		kind.OfRayCluster:      decoding(rayCluster),
		kind.OfRayJob:          decoding(rayJob),
		kind.OfTrainingJob:     decoding(trainingJob),
		kind.OfJobSet:          decoding(jobSet),
		kind.OfTensorServer:    decoding(tensorServer),
	}
}

// assessor assesses snapshots of one workload.
type assessor func(Snapshot) Verdict

// undecoded returns an assessor of a workload that needs no decoding.
func undecoded(assess assessor) func(*unstructured.Unstructured) assessor {
	return func(*unstructured.Unstructured) assessor { return assess }
}

// decoding decodes a workload, and returns its assessor. An object that does not
// match its kind is assessed like one of an unknown kind.
func decoding[T any](assess func(Snapshot, *T) Verdict) func(*unstructured.Unstructured) assessor {
	return func(u *unstructured.Unstructured) assessor {
		if workload := decoded[T](u); workload != nil {
			return func(s Snapshot) Verdict { return assess(s, workload) }
		}
		return anyKind
	}
}

// decoded converts an object to T. It returns nil if the object does not match
// its kind.
func decoded[T any](u *unstructured.Unstructured) *T {
	out := new(T)
	if u == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out) != nil {
		return nil
	}
	return out
}

// decodedByName decodes the objects that match their kind, sorted by name.
func decodedByName[T any](objects []*unstructured.Unstructured) []*T {
	var out []*T
	for _, u := range slices.SortedFunc(slices.Values(objects), func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(a.GetName(), b.GetName())
	}) {
		if item := decoded[T](u); item != nil {
			out = append(out, item)
		}
	}
	return out
}

// metadata contains the fields of the metadata of decoded objects that the assessments use.
type metadata struct {
	Name       string `json:"name"`
	Generation int64  `json:"generation"`
}

func readinessOf(workload *unstructured.Unstructured) kind.Readiness {
	return kind.WorkloadOf(workload.GroupVersionKind().GroupKind()).Readiness
}

// groupsOf returns the groups of pods that a workload of a known kind requests.
func groupsOf(workload *unstructured.Unstructured) []kind.Group {
	return kind.WorkloadOf(workload.GroupVersionKind().GroupKind()).Groups(workload.Object)
}

// Assess returns the verdict on one snapshot.
func Assess(s Snapshot) Verdict { return Assessor(s.Workload)(s) }

// Assessor is [Assess] for several snapshots of one version of a workload, which
// it decodes once.
func Assessor(workload *unstructured.Unstructured) func(Snapshot) Verdict {
	if workload == nil || workload.Object == nil {
		return always(Verdict{Message: "the workload does not exist in the cluster yet"})
	}
	if workload.GetDeletionTimestamp() != nil && !hasEnded(workload) {
		return always(Verdict{Message: "the workload is being deleted"})
	}
	return assessors()[readinessOf(workload)](workload)
}

// hasEnded reports whether a workload whose pods run to their end has ended, by its conditions or the status of a
// RayJob. Its time to live may delete it then, which does not change its result.
func hasEnded(workload *unstructured.Unstructured) bool {
	status := kind.TextAt(workload.Object, "status", "jobDeploymentStatus")
	return kind.WorkloadOf(workload.GroupVersionKind().GroupKind()).Ends &&
		(kind.Ended(workload.Object) || slices.Contains([]string{"Complete", "Failed", "ValidationFailed"}, status))
}

func always(verdict Verdict) func(Snapshot) Verdict { return func(Snapshot) Verdict { return verdict } }

// first returns the first item for which match returns true, or the zero value.
func first[T any](items []T, match func(T) bool) T {
	if i := slices.IndexFunc(items, match); i >= 0 {
		return items[i]
	}
	var none T
	return none
}

// filter returns the items for which keep returns true.
func filter[T any](items []T, keep func(T) bool) []T {
	var out []T
	for _, item := range items {
		if keep(item) {
			out = append(out, item)
		}
	}
	return out
}
