package ready

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// unschedulable is the reason of a Revision whose pods cannot be scheduled. It
// is copied from their condition PodScheduled
// (pkg/reconciler/revision/reconcile_resources.go).
const unschedulable = "Unschedulable"

// noNode matches the start of the scheduler's messages, which the Service
// quotes.
var noNode = regexp.MustCompile(`^\d+/\d+ nodes are available`)

// serving contains the relevant fields of a Service of Knative.
type serving struct {
	Status struct {
		ObservedGeneration        int64  `json:"observedGeneration"`
		LatestCreatedRevisionName string `json:"latestCreatedRevisionName"`
		LatestReadyRevisionName   string `json:"latestReadyRevisionName"`
	} `json:"status"`
}

// knativeService assesses the Ready condition of Knative. It is also true if
// the Service is scaled to zero, and requires a first pod unless the initial
// scale is zero.
func knativeService(s Snapshot, k *serving) Verdict {
	ready := conditionsOf(s.Workload).of("Ready")
	switch {
	case k.Status.ObservedGeneration < s.Workload.GetGeneration():
		return s.diagnose(run{remark: s.notObserved()})
	case ready.isTrue():
		return isReady("revision %s is ready", cmp.Or(k.Status.LatestReadyRevisionName,
			k.Status.LatestCreatedRevisionName))
	}
	latest := k.Status.LatestCreatedRevisionName
	pods := filter(s.Pods, func(p *corev1.Pod) bool {
		revision := p.Labels[kind.KnativeRevisionLabel]
		return revision == "" || revision == latest
	})
	remark := cmp.Or(clip(ready.Message), ready.Reason, "waiting for Knative")
	return s.diagnose(run{pods: pods, remark: remark}, func(d *diagnosis) *Cause { return d.knativeCause(latest) })
}

// knativeCause returns the most specific condition of a Service that is not
// ready: of its Revision, otherwise of its configuration, otherwise of its
// route.
func (s *diagnosis) knativeCause(latest string) *Cause {
	revision := conditionsOf(s.part("Revision", latest))
	for _, t := range []string{"ContainerHealthy", "ResourcesAvailable"} {
		c := revision.of(t)
		switch {
		case c.isFalse() && c.Reason == unschedulable:
			return nil // Knative repeats the scheduler's message on the pod, which is assessed separately
		case c.isFalse():
			return s.revisionCause(latest, c)
		}
	}
	service := conditionsOf(s.Workload)
	configuration, route, ready := service.of("ConfigurationsReady"), service.of("RoutesReady"), service.of("Ready")
	switch {
	case configuration.isFalse():
		return s.revisionCause(latest, configuration)
	case route.isFalse():
		c := s.cause(ReasonFailed, "Knative cannot route to the service"+route.suffix()+".",
			"Check its Route and the networking layer of Knative.")
		c.Command = Kubectl(s.namespace, "describe", "route."+kind.KnativeGroup, s.Workload.GetName())
		return c.terminal(shortGrace)
	case ready.isFalse():
		return s.revisionCause(latest, ready)
	}
	return nil
}

// revisionCause explains a false condition of a Revision. The reasons are those
// of Knative (pkg/apis/serving/v1/revision_lifecycle.go).
func (s *diagnosis) revisionCause(revision string, failed condition) *Cause {
	about := cmp.Or(revision, s.Workload.GetName())
	if _, message, ok := strings.Cut(failed.Message, "failed with message: "); ok {
		failed.Reason, failed.Message = "", strings.TrimSuffix(message, ".") // the configuration quotes the Revision
	}
	c := s.cause(ReasonFailed, fmt.Sprintf("Revision %s has failed%s.", about, failed.suffix()),
		"Correct the configuration that the message reports. Each change creates a new Revision.").terminal(shortGrace)
	c.Subject = "revision " + about
	if revision != "" {
		c.Command = Kubectl(s.namespace, "describe", "revision."+kind.KnativeGroup, revision)
	}
	message := failed.Message
	switch {
	case failed.Reason == "ContainerMissing", strings.Contains(message, "Unable to fetch image"):
		c.Reason = ReasonImagePullFailed
		c.Hint = advice.Of("Check %s, and that the service account has the pull secret of a private image. Knative "+
			"resolves an image before it creates pods.", advice.Image)
		c.Grace = pullHintOf(message, advice.Text{}).prospect
		c.Terminal = c.Grace != pullIsLater
	case failed.Reason == unschedulable, noNode.MatchString(message):
		c.Reason, c.Terminal, c.Grace = ReasonWaitingForCapacity, false, 0
		c.Summary = fmt.Sprintf("No node can run the pods of revision %s now%s. The pods start when a node has enough "+
			"capacity.", about, failed.suffix())
		c.Hint = advice.Text{}
	case failed.Reason == failedCreate, refusedPod.MatchString(message):
		c = s.refused(c, message)
	case strings.HasPrefix(failed.Reason, "ExitCode"), strings.Contains(message, "Container failed with"):
		c.Reason = ReasonCrashLoop
		c.Hint = advice.Of("Read the log of its container, which exits when it should run.")
		c.Grace = pullGrace // the state of the pod is more specific, and follows soon
	case failed.Reason == "ProgressDeadlineExceeded":
		c.Hint = advice.Of("Check why its pods are not ready, or increase %s.", advice.ProgressDeadline)
	}
	return c
}

// part returns an object between the workload and its pods, or nil if it is
// unknown.
func (s Snapshot) part(kind, name string) *unstructured.Unstructured {
	return first(s.Parts,
		func(u *unstructured.Unstructured) bool { return u.GetKind() == kind && u.GetName() == name })
}
