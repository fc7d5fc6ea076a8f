// Package ready says whether a workload is ready, and what blocks it when it is
// not. It is pure: objects go in, a verdict comes out. It reads no cluster, no
// clock and no Terraform; whoever waits takes snapshots, asks for a verdict on
// each, and keeps the time.
package ready

import (
	"cmp"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Snapshot is what is known about one workload at one moment. Nothing in it is
// written to. All but Workload may be missing: the verdict then says less.
type Snapshot struct {
	// Workload is the live object; nil while it has not been seen.
	Workload *unstructured.Unstructured
	// ReplicaSets are those that the workload owns, old ones included. With
	// them the pods of the current template are told from older ones exactly;
	// nil is unknown, and the Deployment's conditions must do.
	ReplicaSets []*appsv1.ReplicaSet
	// Pods are the workload's pods of any age and revision, in any order.
	Pods []*corev1.Pod
	// Events are about the workload, its ReplicaSets, pods and claims, in any
	// order. Warnings matter most; the Normal ones that tell more are
	// NotTriggerScaleUp and TriggeredScaleUp (pods), Pulling (pods, from
	// kubelets before 1.29) and FailedBinding (claims).
	Events []*corev1.Event
	// Nodes are all nodes of the cluster; nil is unknown (no right to list them).
	Nodes []*corev1.Node
	// Claims are the claims that the pods use, by name. A nil value was looked
	// up and is missing; an absent key is unknown.
	Claims map[string]*corev1.PersistentVolumeClaim
	// Parts are objects between the workload and its pods that say more than it:
	// the Revisions of a Knative Service, the StatefulSet of a tensor server.
	Parts []*unstructured.Unstructured
	// Queue is the queue that the workload is in; nil where it is in none, or
	// where nothing is known of it.
	Queue *Queue
	// Autoscaler is whether something is known to add nodes on demand (a cluster
	// autoscaler or Karpenter), so that what no node can hold today may still run.
	Autoscaler bool
	// FixedNodes is whether it is known that nothing does.
	FixedNodes bool
}

// Phase is the stage that a workload is in.
type Phase string

// The phases, from a workload's point of view.
const (
	Ready         Phase = "Ready"
	Progressing   Phase = "Progressing"   // the controllers have work to do
	Queued        Phase = "Queued"        // held by a queue or a scheduling gate
	Unschedulable Phase = "Unschedulable" // no node takes a pod, now or ever
	Pulling       Phase = "Pulling"       // an image is on its way, or cannot be had
	Starting      Phase = "Starting"      // containers start, or are not healthy yet
	Crashing      Phase = "Crashing"      // containers end when they should run
	Refused       Phase = "Refused"       // the API server refuses the pods
	Terminating   Phase = "Terminating"   // the workload is being deleted
	Suspended     Phase = "Suspended"     // no pods are wanted, and none are left
)

// Verdict says whether the workload is ready, and what blocks it when not.
type Verdict struct {
	Phase   Phase
	Ready   bool
	Message string // one line of progress: "1 of 3 pods ready: 2 pulling an image"
	Cause   *Cause // nil when ready and while simply progressing
}

// Settled says whether there is nothing to wait for: the workload is ready, or
// suspended.
func (v Verdict) Settled() bool { return v.Ready || v.Phase == Suspended }

// Cause is a thing that keeps a workload from becoming ready.
type Cause struct {
	Reason  string // machine word, one of the Reason constants
	Object  string // the object that shows it: "Pod ml/svc-abc"
	Subject string // what it is about, whichever pod shows it: an image, a Secret, a claim
	Summary string // what was seen, in one or two sentences
	Hint    string // what to do, as an imperative; "" where there is nothing to do
	Command string // the one kubectl command to look further

	// Terminal is whether waiting cannot heal it. Even so it only ends a wait
	// when it was seen for Grace without a break; zero is at once.
	Terminal bool
	Grace    time.Duration

	// Fields are those that the cause is about, by their paths in the object's spec.override: of [ReasonOperatorDrops].
	Fields []string

	// Missing is the object whose absence is the cause. A waiter that can read
	// it may check that it is still missing before giving up.
	Missing *Ref
	// Logs says whose log lines explain more; nil if logs say nothing.
	Logs *LogRef
	// Events are the last relevant events, oldest first, at most five, without
	// ages: "BackOff: Back-off pulling image … (x3)".
	Events []string
}

// Key tells causes apart over time. It stays the same when another pod shows
// the same trouble, so that a replaced pod does not restart a grace period. It
// changes when a cause that may heal turns into one that cannot, so that the
// grace period starts then.
func (c *Cause) Key() string {
	key := c.Reason + " " + cmp.Or(c.Subject, c.Object)
	if !c.Terminal {
		return key + " (may heal)"
	}
	return key
}

// Ref names an object, and a key in it when the object is a Secret or ConfigMap
// of which only the key is missing.
type Ref struct {
	Kind, Namespace, Name string
	Key                   string
}

// LogRef names a container's log.
type LogRef struct {
	Namespace, Pod, Container string
	Previous                  bool  // the log of the run before the last restart
	Restarts                  int32 // how often the container had been restarted by then
}

// The reasons of causes.
const (
	ReasonInvalidImageName      = "InvalidImageName"
	ReasonImagePullFailed       = "ImagePullFailed"
	ReasonConfigError           = "ConfigError"          // a Secret, ConfigMap or key that a container needs
	ReasonContainerStartFailed  = "ContainerStartFailed" // the runtime cannot start the container
	ReasonMountFailed           = "MountFailed"
	ReasonSandboxFailed         = "SandboxFailed" // network or runtime class
	ReasonCrashLoop             = "CrashLoop"
	ReasonContainerExited       = "ContainerExited" // once; it may not happen again
	ReasonOutOfMemory           = "OutOfMemory"
	ReasonProbeFailing          = "ProbeFailing"
	ReasonQuotaExceeded         = "QuotaExceeded"
	ReasonServiceAccountMissing = "ServiceAccountMissing"
	ReasonPodsRefused           = "PodsRefused"
	ReasonUnschedulable         = "Unschedulable"      // no node can ever hold a pod
	ReasonWaitingForCapacity    = "WaitingForCapacity" // none can now
	ReasonVolumeMissing         = "VolumeMissing"
	ReasonVolumeNotBound        = "VolumeNotBound"
	ReasonQueued                = "Queued"
	ReasonQueueMissing          = "QueueMissing"
	ReasonQueueInactive         = "QueueInactive"
	ReasonQueueShort            = "QueueShort"   // the queue's quota does not hold what is asked for
	ReasonPodsMissing           = "PodsMissing"  // none match a selector
	ReasonPodsStarting          = "PodsStarting" // those that match a selector are on their way
	ReasonPaused                = "Paused"
	ReasonPodFailed             = "PodFailed" // evicted, refused by its node
	ReasonNodeNotReady          = "NodeNotReady"
	ReasonFailed                = "Failed" // the workload says so itself
	ReasonOperatorSilent        = "OperatorSilent"
	ReasonOldPodInTheWay        = "OldPodInTheWay"      // of a StatefulSet whose pods are managed in order
	ReasonOperatorDrops         = "OperatorDropsFields" // it leaves out what its object says
	ReasonGatewayNotReady       = "GatewayNotReady"
)

// judges are the functions that judge readiness; a kind that has none is judged
// by kstatus and by its pods.
func judges() map[kind.Readiness]func(Snapshot) Verdict {
	return map[kind.Readiness]func(Snapshot) Verdict{
		kind.ByConventions:     anyKind,
		kind.OfDeployment:      deployment,
		kind.OfStatefulSet:     statefulSet,
		kind.OfDaemonSet:       daemonSet,
		kind.OfReplicaSet:      replicaSet,
		kind.OfPod:             singlePod,
		kind.OfJob:             job,
		kind.OfCronJob:         cronJob,
		kind.OfLeaderWorkerSet: leaderWorkerSet,
		kind.OfKnativeService:  knativeService,
		kind.OfRayCluster:      rayCluster,
		kind.OfTrainingJob:     trainingJob,
		kind.OfJobSet:          jobSet,
		kind.OfTensorServer:    tensorServer,
	}
}

func readinessOf(workload *unstructured.Unstructured) kind.Readiness {
	return kind.WorkloadOf(workload.GroupVersionKind().GroupKind()).Readiness
}

// Assess judges one snapshot.
func Assess(s Snapshot) Verdict {
	if s.Workload == nil || s.Workload.Object == nil {
		return Verdict{Phase: Progressing, Message: "the workload is not in the cluster yet"}
	}
	if s.Workload.GetDeletionTimestamp() != nil {
		return Verdict{Phase: Terminating, Message: "the workload is being deleted"}
	}
	return judges()[readinessOf(s.Workload)](s)
}
