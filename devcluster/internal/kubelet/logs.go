package kubelet

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// logLine is one line of a container's log.
type logLine struct {
	time time.Time
	text string
}

// Complete logs of failed containers.
const (
	crashLog = `INFO:     starting the server
Traceback (most recent call last):
  File "/app/server.py", line 3, in <module>
    import kubetorch
ModuleNotFoundError: No module named 'kubetorch'`
	oomLog = `INFO:     starting the server
INFO:     loading model weights into memory`
)

// logLines returns the lines of one run of a container. The first is written at its start, the others at its end.
func logLines(container corev1.Container, started, finished time.Time) []logLine {
	text := fmt.Sprintf("fake container %s started; nothing runs on this node", container.Name)
	if f := faultOf(container.Image); f == faultCrash {
		text = crashLog
	} else if f == faultOOM {
		text = oomLog
	}
	var lines []logLine
	for i, line := range strings.Split(text, "\n") {
		at := finished
		if i == 0 || finished.IsZero() {
			at = started
		}
		lines = append(lines, logLine{at, line})
	}
	return lines
}

// containerLog returns the log of the current or previous run of a container, or the error that
// a kubelet would return.
func containerLog(pod *corev1.Pod, name string, previous bool) ([]logLine, error) {
	container, status, found := find(pod, name)
	if !found {
		return nil, fmt.Errorf("container %q in pod %q is not available", name, pod.Name)
	}
	running, terminated, last := status.State.Running, status.State.Terminated, status.LastTerminationState.Terminated
	switch {
	case previous && last == nil:
		return nil, fmt.Errorf("previous terminated container %q in pod %q not found", name, pod.Name)
	case previous:
		return logLines(container, last.StartedAt.Time, last.FinishedAt.Time), nil
	case running != nil && !status.Ready:
		// The container has not failed yet.
		return logLines(container, running.StartedAt.Time, time.Time{})[:1], nil
	case running != nil:
		return logLines(container, running.StartedAt.Time, time.Time{}), nil
	case terminated != nil:
		return logLines(container, terminated.StartedAt.Time, terminated.FinishedAt.Time), nil
	case last != nil:
		return logLines(container, last.StartedAt.Time, last.FinishedAt.Time), nil
	case status.State.Waiting == nil:
		return nil, fmt.Errorf("container %q in pod %q is waiting to start - no logs yet", name, pod.Name)
	}
	reason := status.State.Waiting.Reason
	switch reason {
	case reasonErrPull:
		reason = "image can't be pulled"
	case reasonPullBackOff:
		reason = "trying and failing to pull image"
	}
	return nil, fmt.Errorf("container %q in pod %q is waiting to start: %s", name, pod.Name, reason)
}

func find(pod *corev1.Pod, name string) (corev1.Container, corev1.ContainerStatus, bool) {
	statuses := append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...),
		pod.Status.ContainerStatuses...)
	for _, container := range allContainers(pod) {
		for _, status := range statuses {
			if container.Name == name && status.Name == name {
				return container, status, true
			}
		}
	}
	return corev1.Container{}, corev1.ContainerStatus{}, false
}

// logOptions contains the fields of PodLogOptions that select lines.
type logOptions struct {
	previous   bool
	follow     bool
	timestamps bool
	since      time.Time // zero for all
	tail       int64     // lines; -1 for all
	limit      int64     // bytes; -1 for all
}

// parseLogOptions parses the query that the API server forwards for a log request.
func parseLogOptions(query url.Values, now time.Time) (logOptions, error) {
	opts := logOptions{tail: -1, limit: -1}
	for name, target := range map[string]*bool{"previous": &opts.previous, "follow": &opts.follow,
		"timestamps": &opts.timestamps} {
		if text := query.Get(name); text != "" {
			value, err := strconv.ParseBool(text)
			if err != nil {
				return logOptions{}, fmt.Errorf("%s=%q is not true or false", name, text)
			}
			*target = value
		}
	}
	var seconds int64 = -1
	for name, target := range map[string]*int64{"tailLines": &opts.tail, "limitBytes": &opts.limit,
		"sinceSeconds": &seconds} {
		if text := query.Get(name); text != "" {
			value, err := strconv.ParseInt(text, 10, 64)
			if err != nil || value < 0 {
				return logOptions{}, fmt.Errorf("%s=%q is not a non-negative integer", name, text)
			}
			*target = value
		}
	}
	if seconds >= 0 {
		opts.since = now.Add(-time.Duration(seconds) * time.Second)
	}
	if text := query.Get("sinceTime"); text != "" {
		since, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return logOptions{}, fmt.Errorf("sinceTime=%q is not a time like 2006-01-02T15:04:05Z", text)
		}
		opts.since = since
	}
	return opts, nil
}

// render formats the selected lines like the kubelet does.
func (o logOptions) render(lines []logLine) []byte {
	var kept []logLine
	for _, line := range lines {
		if !line.time.Before(o.since) {
			kept = append(kept, line)
		}
	}
	if o.tail >= 0 && int64(len(kept)) > o.tail {
		kept = kept[int64(len(kept))-o.tail:]
	}
	var out bytes.Buffer
	for _, line := range kept {
		if o.timestamps {
			out.WriteString(line.time.UTC().Format(time.RFC3339Nano) + " ")
		}
		out.WriteString(line.text + "\n")
	}
	if o.limit >= 0 && int64(out.Len()) > o.limit {
		out.Truncate(int(o.limit))
	}
	return out.Bytes()
}
