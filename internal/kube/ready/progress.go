package ready

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// stage is how far one pod has come.
type stage int

const (
	stageFailed stage = iota
	stageQueued
	stageUnschedulable
	stagePreparing // not scheduled yet, or its sandbox and volumes are being made
	stagePulling
	stageCrashing
	stageStarting
	stageReady
)

// stages says, for each stage in order, the phase of a workload whose slowest
// pod is there, and the words for a count of pods.
var stages = [...]struct {
	phase Phase
	words string
}{
	stageFailed:        {Progressing, "failed"},
	stageQueued:        {Queued, "queued"},
	stageUnschedulable: {Unschedulable, "waiting for a node"},
	stagePreparing:     {Progressing, "being prepared"},
	stagePulling:       {Pulling, "pulling images"},
	stageCrashing:      {Crashing, "crashing"},
	stageStarting:      {Starting, "starting"},
	stageReady:         {Progressing, ""},
}

// progress is the phase of the pod that is furthest behind, and a count of pods
// by stage. remark is added when no pod is on its way, and stands alone when
// there is nothing to count.
func (s *scene) progress(remark string) (Phase, string) {
	var counts [len(stages)]int
	slowest := stageReady
	for _, p := range s.pods {
		at := stageOf(p)
		counts[at]++
		slowest = min(slowest, at)
	}
	total := max(s.desired, len(s.pods)-counts[stageFailed]) // another takes a failed one's place
	if total == 0 {
		return Progressing, remark
	}
	var parts []string
	for at, n := range counts[:stageReady] {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, stages[at].words))
		}
	}
	if len(parts) == 0 && remark != "" {
		parts = append(parts, remark)
	}
	message := fmt.Sprintf("%d of %d pods ready", counts[stageReady], total)
	if len(parts) > 0 {
		message += ": " + strings.Join(parts, ", ")
	}
	return stages[slowest].phase, message
}

func stageOf(p *corev1.Pod) stage {
	switch {
	case p.Status.Phase == corev1.PodFailed:
		return stageFailed
	case podReady(p):
		return stageReady
	case p.Spec.NodeName == "" && isQueued(p):
		return stageQueued
	case p.Spec.NodeName == "" && schedulerMessage(p) != "":
		return stageUnschedulable
	case p.Spec.NodeName == "":
		return stagePreparing
	}
	started := false
	for _, cs := range containerStatuses(p) {
		switch w := cs.State.Waiting; {
		case w != nil && imageTrouble(w.Reason):
			return stagePulling
		case w != nil && w.Reason == crashLoopBackOff, failed(cs.State.Terminated):
			return stageCrashing
		}
		started = started || cs.State.Running != nil || cs.State.Terminated != nil
	}
	switch {
	case started:
		return stageStarting
	case sandboxReady(p):
		// The sandbox is up and volumes are mounted: what is left is the image.
		return stagePulling
	}
	return stagePreparing
}
