package ready

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// unschedulable is the reason of a Revision whose pods get no node, which it has
// from their condition PodScheduled (pkg/reconciler/revision/reconcile_resources.go).
const unschedulable = "Unschedulable"

// noNode is how the scheduler's messages begin, which the Service quotes.
var noNode = regexp.MustCompile(`^\d+/\d+ nodes are available`)

// conditional is the status that Knative's kinds have in common.
type conditional struct {
	Metadata struct {
		Name       string `json:"name"`
		Generation int64  `json:"generation"`
	} `json:"metadata"`
	Status struct {
		ObservedGeneration        int64       `json:"observedGeneration"`
		Conditions                []condition `json:"conditions"`
		LatestCreatedRevisionName string      `json:"latestCreatedRevisionName"`
		LatestReadyRevisionName   string      `json:"latestReadyRevisionName"`
	} `json:"status"`
}

// knativeService judges by Knative's own Ready condition: it also holds when
// the Service is scaled to zero, and waits for a first pod unless the initial
// scale is zero.
func knativeService(s Snapshot) Verdict {
	k, ok := typed[conditional](s)
	if !ok {
		return anyKind(s)
	}
	ready := conditionOf(k.Status.Conditions, "Ready")
	switch {
	case k.Status.ObservedGeneration < k.Metadata.Generation:
		return s.blocked(run{remark: s.unseen()})
	case ready.holds():
		return isReady("revision %s is ready", cmp.Or(k.Status.LatestReadyRevisionName, k.Status.LatestCreatedRevisionName))
	}
	latest := k.Status.LatestCreatedRevisionName
	var pods []*corev1.Pod
	for _, p := range s.Pods {
		if p != nil && (p.Labels[kind.KnativeRevisionLabel] == latest || p.Labels[kind.KnativeRevisionLabel] == "") {
			pods = append(pods, p)
		}
	}
	remark := cmp.Or(clip(ready.Message), ready.Reason, "waiting for Knative")
	return s.blocked(run{pods: pods, remark: remark}, func(sc *scene) *Cause { return sc.knativeCause(k, latest) })
}

// knativeCause is the condition that says most of why a Service is not ready:
// its Revision's own, else that of its configuration, else that of its route.
func (s *scene) knativeCause(k *conditional, latest string) *Cause {
	if r := s.part("Revision", latest); r != nil {
		for _, t := range []string{"ContainerHealthy", "ResourcesAvailable"} {
			c := conditionOf(r.Status.Conditions, t)
			switch {
			case c.fails() && c.Reason == unschedulable:
				return nil // Knative repeats what the scheduler says of a pod, which is judged by itself
			case c.fails():
				return s.revisionCause(latest, c)
			}
		}
	}
	configuration := conditionOf(k.Status.Conditions, "ConfigurationsReady")
	route := conditionOf(k.Status.Conditions, "RoutesReady")
	ready := conditionOf(k.Status.Conditions, "Ready")
	switch {
	case configuration.fails():
		return s.revisionCause(latest, configuration)
	case route.fails():
		c := s.workloadCause(ReasonFailed, "Knative cannot route to the service"+route.says()+".")
		c.Hint = "Check its Route and Knative's networking layer."
		c.Command = kubectl(s.namespace, "describe route.serving.knative.dev "+k.Metadata.Name)
		return c
	case ready.fails():
		return s.revisionCause(latest, ready)
	}
	return nil
}

// revisionCause explains a condition of a Revision that is false. The reasons
// are Knative's (pkg/apis/serving/v1/revision_lifecycle.go).
func (s *scene) revisionCause(revision string, failed condition) *Cause {
	about := cmp.Or(revision, s.Workload.GetName())
	if _, message, ok := strings.Cut(failed.Message, "failed with message: "); ok {
		failed.Reason, failed.Message = "", strings.TrimSuffix(message, ".") // the configuration quotes the Revision
	}
	c := s.workloadCause(ReasonFailed, fmt.Sprintf("Revision %s has failed%s.", about, failed.says()))
	c.Subject = "revision " + about
	c.Hint = "Correct what the message names: each change makes a new Revision."
	if revision != "" {
		c.Command = kubectl(s.namespace, "describe revision.serving.knative.dev "+revision)
	}
	message := failed.Message
	switch {
	case failed.Reason == "ContainerMissing", strings.Contains(message, "Unable to fetch image"):
		c.Reason = ReasonImagePullFailed
		c.Hint = "Check `image`, and that the service account has the pull secret of a private one: Knative looks an image up before any pod."
		c.Grace = pullGrace
		switch pullProspect(message, "") {
		case pullIsLater:
			c.Terminal = false
		case pullMayRecover:
			c.Grace = recoverGrace
		case pullIsRefused:
		}
	case failed.Reason == unschedulable, noNode.MatchString(message):
		c.Reason, c.Terminal = ReasonWaitingForCapacity, false
		c.Summary = fmt.Sprintf("No node takes the pods of revision %s now%s. It starts when a node has room.", about, failed.says())
		c.Hint = ""
	case failed.Reason == failedCreate, refusedPod.MatchString(message):
		explainRefusal(c, s.namespace, message)
		c.Terminal = s.isFinal(c, message)
	case strings.HasPrefix(failed.Reason, "ExitCode"), strings.Contains(message, "Container failed with"):
		c.Reason = ReasonCrashLoop
		c.Hint = "Read the log of its container, which ends when it should run."
		c.Grace = pullGrace // the pod's own state says more, and comes soon
	case failed.Reason == "ProgressDeadlineExceeded":
		c.Hint = "Check what its pods wait for, or raise `autoscale.progress_deadline`, in which it did not get ready."
	}
	if !c.Terminal {
		c.Grace = 0
	}
	return c
}

// part is an object between the workload and its pods, nil if it is not known.
func (s *scene) part(kind, name string) *conditional {
	for _, u := range s.Parts {
		if u != nil && u.GetKind() == kind && u.GetName() == name {
			return decoded[conditional](u)
		}
	}
	return nil
}

// decoded is an object as T; nil where it is not what its kind says.
func decoded[T any](u *unstructured.Unstructured) *T {
	out := new(T)
	if u == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out) != nil {
		return nil
	}
	return out
}
