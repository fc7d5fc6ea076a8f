package ready

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// eventLog is a list of events, oldest first.
type eventLog []*corev1.Event

// maxEvents is how many events a cause carries.
const maxEvents = 5

func newEventLog(events []*corev1.Event) eventLog {
	var log eventLog
	for _, e := range events {
		if e != nil {
			log = append(log, e)
		}
	}
	slices.SortStableFunc(log, func(a, b *corev1.Event) int { return lastSeen(a).Compare(lastSeen(b)) })
	return log
}

// lastSeen is when an event happened last; where that is written depends on
// which API recorded it.
func lastSeen(e *corev1.Event) time.Time {
	last := e.CreationTimestamp.Time
	if e.Series != nil {
		last = later(last, e.Series.LastObservedTime.Time)
	}
	last = later(last, e.LastTimestamp.Time)
	last = later(last, e.FirstTimestamp.Time)
	return later(last, e.EventTime.Time)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func timesSeen(e *corev1.Event) int {
	n := max(int(e.Count), 1)
	if e.Series != nil {
		n = max(n, int(e.Series.Count))
	}
	return n
}

// about keeps the events of one object.
func (l eventLog) about(kind, name string) eventLog {
	var out eventLog
	for _, e := range l {
		if e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name {
			out = append(out, e)
		}
	}
	return out
}

// latest is the last event with one of the reasons; nil if there is none.
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

// render is the last few events as lines, oldest first, each text once.
func (l eventLog) render() []string {
	var lines []string
	seen := map[string]bool{}
	for _, e := range slices.Backward(l) {
		text := e.Reason + ": " + clip(e.Message)
		if seen[text] || len(lines) == maxEvents {
			continue
		}
		seen[text] = true
		if n := timesSeen(e); n > 1 {
			text += fmt.Sprintf(" (x%d)", n)
		}
		lines = append(lines, text)
	}
	slices.Reverse(lines)
	return lines
}
