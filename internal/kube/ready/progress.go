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

// describe returns the phase of a workload whose slowest pod is at this stage,
// and the words for the stage after a count of pods: "2 pulling an image".
func (s stage) describe() (phase Phase, words string) {
	is := [...]struct {
		phase Phase
		words string
	}{
		stageFailed:        {Progressing, "failed"},
		stageQueued:        {Queued, "queued"},
		stageUnschedulable: {Unschedulable, "waiting for a node"},
		stagePreparing:     {Progressing, "being prepared"},
		stagePulling:       {Pulling, "pulling an image"},
		stageCrashing:      {Crashing, "crashing"},
		stageStarting:      {Starting, "starting"},
		stageReady:         {Progressing, "ready"},
	}[s]
	return is.phase, is.words
}

// progress returns the phase of the slowest pod, and the number of pods by
// stage. remark is added if no pod is starting, and used alone if there are no
// pods.
func (s *diagnosis) progress(remark string) (Phase, string) {
	var counts [stageReady + 1]int
	slowest := stageReady
	for _, p := range s.pods {
		at := stageOf(p)
		counts[at]++
		slowest = min(slowest, at)
	}
	total := max(s.desired, len(s.pods)-counts[stageFailed]) // failed pods are replaced
	if total == 0 {
		return Progressing, remark
	}
	var parts []string
	for at, n := range counts[:stageReady] {
		if n > 0 {
			_, words := stage(at).describe()
			parts = append(parts, fmt.Sprintf("%d %s", n, words))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, remark)
	}
	phase, _ := slowest.describe()
	return phase, fmt.Sprintf("%d of %d pods ready: %s", counts[stageReady], total, strings.Join(parts, ", "))
}

func stageOf(p *corev1.Pod) stage {
	switch {
	case p.Status.Phase == corev1.PodFailed:
		return stageFailed
	case PodReady(p):
		return stageReady
	case p.Spec.NodeName == "" && isQueued(p):
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
