package ready

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// stage is the progress of one pod.
type stage int

const (
	stageFailed stage = iota
	stageQueued
	stageUnschedulable
	stagePreparing // not scheduled yet, or its sandbox and volumes are being set up
	stagePulling
	stageCrashing
	stageStarting
	stageReady
)

// words returns the words for a stage after a count of pods: "2 pulling an image".
func (s stage) words() string {
	return [...]string{
		stageFailed:        "failed",
		stageQueued:        "queued",
		stageUnschedulable: "waiting for a node",
		stagePreparing:     "being prepared",
		stagePulling:       "pulling an image",
		stageCrashing:      "crashing",
		stageStarting:      "starting",
	}[s]
}

// progress returns the number of pods by stage. remark is added if no pod is
// starting, and used alone if there are no pods.
func (s *diagnosis) progress(remark string) string {
	var counts [stageReady + 1]int
	for _, p := range s.pods {
		counts[stageOf(p)]++
	}
	total := max(s.desired, len(s.pods)-counts[stageFailed]) // failed pods are replaced
	if total == 0 {
		return remark
	}
	var parts []string
	for at, n := range counts[:stageReady] {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, stage(at).words()))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, remark)
	}
	return fmt.Sprintf("%d of %d pods ready: %s", counts[stageReady], total, strings.Join(parts, ", "))
}

func stageOf(p *corev1.Pod) stage {
	switch {
	case p.Status.Phase == corev1.PodFailed:
		return stageFailed
	case PodReady(p):
		return stageReady
	case IsQueued(p):
		return stageQueued
	case p.Spec.NodeName == "" && schedulerMessage(p) != "":
		return stageUnschedulable
	}
	started := false
	for _, cs := range containerStatuses(p) {
		switch w := cs.State.Waiting; {
		case w != nil && imageUnavailable(w.Reason):
			return stagePulling
		case w != nil && w.Reason == crashLoopBackOff, failed(cs.State.Terminated):
			return stageCrashing
		case w != nil && !isBeingCreated(w):
			return stageStarting // the image is available, but another dependency is not
		}
		started = started || cs.State.Running != nil || cs.State.Terminated != nil
	}
	switch {
	case started:
		return stageStarting
	case sandboxReady(p):
		// The sandbox is ready and volumes are mounted: only the image is missing.
		return stagePulling
	}
	return stagePreparing
}
