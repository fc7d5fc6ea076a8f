package ready

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// eventLog is a list of events, oldest first.
type eventLog []*corev1.Event

// maxEvents is the maximum number of events of a cause.
const maxEvents = 5

func newEventLog(events []*corev1.Event) eventLog {
	log := eventLog(slices.Clone(events))
	slices.SortStableFunc(log, func(a, b *corev1.Event) int { return LastSeen(a).Compare(LastSeen(b)) })
	return log
}

// LastSeen returns the time of the last occurrence of an event. The field
// depends on the API that recorded it.
func LastSeen(e *corev1.Event) time.Time {
	series := ptr.Deref(e.Series, corev1.EventSeries{})
	return slices.MaxFunc([]time.Time{e.CreationTimestamp.Time, series.LastObservedTime.Time, e.LastTimestamp.Time,
		e.EventTime.Time}, time.Time.Compare)
}

// TimesSeen returns how often an event has occurred.
func TimesSeen(e *corev1.Event) int {
	return int(max(e.Count, ptr.Deref(e.Series, corev1.EventSeries{}).Count, 1))
}

// about returns the events of one object.
func (l eventLog) about(kind, name string) eventLog {
	return filter(l, func(e *corev1.Event) bool {
		return e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name
	})
}

// latest returns the last event with one of the reasons, or nil.
func (l eventLog) latest(reasons ...string) *corev1.Event {
	return l.latestWhere(func(e *corev1.Event) bool { return slices.Contains(reasons, e.Reason) })
}

func (l eventLog) latestWhere(ok func(*corev1.Event) bool) *corev1.Event {
	for _, e := range slices.Backward(l) {
		if ok(e) {
			return e
		}
	}
	return nil
}

// render formats the last events as lines, oldest first. Events that differ
// only in the random name of a pod are combined into one line with the total
// count.
func (l eventLog) render() []string {
	var lines []string
	times := map[string]int{}
	for _, e := range slices.Backward(l) {
		line := e.Reason + ": " + clip(shortened(e))
		if times[line] == 0 && len(lines) < maxEvents {
			lines = append(lines, line)
		}
		times[line] += TimesSeen(e)
	}
	slices.Reverse(lines)
	for i, line := range lines {
		if times[line] > 1 {
			lines[i] += fmt.Sprintf(" (x%d)", times[line])
		}
	}
	return lines
}

// shortened returns the message of an event without what its reason and its
// cause already contain.
func shortened(e *corev1.Event) string {
	message := strings.TrimPrefix(e.Message, "(combined from similar events): ")
	switch {
	case e.Reason == "FailedScheduling":
		return filterMessage(message)
	case couldNotCreate(e):
		return refusedPod.ReplaceAllString(message, "")
	case failedPull(e):
		return "Failed to pull image: " + pullError(message)
	}
	return inPod.ReplaceAllString(message, "")
}

// inPod matches the name and UID of the pod that the kubelet appends to a
// message.
var inPod = regexp.MustCompile(` in pod \S+_\S+\([0-9a-f-]{36}\)$`)
