package podstream

import (
	"bytes"
	"context"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// Log selects a part of the log of one run of a container.
type Log struct {
	Namespace, Pod, Container string
	Previous                  bool           // of the previous run of the container
	Follow                    bool           // until the container ends
	TailLines                 *int64         // nil: all lines
	Since                     *time.Duration // age of the oldest line; nil: of any age
	Mask                      Mask
}

// A log that was cut is opened again after reconnectTime, unless this has failed maxFailures times in a row.
const (
	reconnectTime = time.Second
	maxFailures   = 5
)

// Read passes the lines of a log to line. A log that is cut, and a followed one that ends although the container still
// runs, is opened again where it was cut. Errors are of type *kube.Error, with the class Denied without permission to
// get pods/log, and Invalid if the container has not started or has no previous run.
func (l Log) Read(ctx context.Context, c *kube.Cluster, line func(string)) error {
	options := corev1.PodLogOptions{Container: l.Container, Follow: l.Follow, Previous: l.Previous,
		TailLines: l.TailLines, Timestamps: true}
	if l.Since != nil {
		seconds := max(1, int64(l.Since.Round(time.Second).Seconds()))
		options.SinceSeconds = &seconds
	}
	run := int32(-1)
	var last time.Time // of the lines that were passed on
	for failures := 0; ; {
		before := last
		err := l.read(ctx, c, options, &last, line)
		if failures++; err == nil || last.After(before) {
			failures = 0
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && !l.Follow, err != nil && !kube.IsServerFailure(err), failures > maxFailures:
			return err
		}
		if l.Follow {
			now, runs, err := l.running(ctx, c)
			if err != nil || !runs || run >= 0 && now != run {
				return err
			}
			run = now
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.Clock().After(reconnectTime):
		}
		if !last.IsZero() {
			options.TailLines, options.SinceSeconds = nil, nil
			options.SinceTime = &metav1.Time{Time: last} // seconds: older lines are skipped
		}
	}
}

// running returns the number of restarts of the container, and whether it runs.
func (l Log) running(ctx context.Context, c *kube.Cluster) (restarts int32, runs bool, err error) {
	pod, err := kube.PodNow(ctx, c.API, l.Namespace, l.Pod)
	if kube.IsNotFound(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	status := ready.StatusOf(pod, l.Container)
	return status.RestartCount, status.State.Running != nil, nil
}

// read passes on the lines of one connection that are newer than last.
func (l Log) read(
	ctx context.Context, c *kube.Cluster, options corev1.PodLogOptions, last *time.Time, line func(string),
) error {
	stream, err := c.API.StreamLogs(ctx, l.Namespace, l.Pod, options)
	if err != nil {
		return err
	}
	defer stream.Close()
	skip := *last
	lines := &splitter{stamped: true}
	lines.emit = func(raw []byte, omitted int) {
		at, text := timestamped(raw)
		if !at.IsZero() {
			if !skip.IsZero() && !at.After(skip) {
				return
			}
			*last = at
		}
		line(clean(text, omitted, hiding(c, l.Mask)))
	}
	_, err = io.Copy(lines, stream)
	if err == nil {
		lines.close() // otherwise, the line may be incomplete, and is read again
	}
	return kube.WrapSubresource("read the logs of",
		kube.Ref{Kind: kind.Pod(), Namespace: l.Namespace, Name: l.Pod}, err)
}

// timestamped splits a line into its timestamp and its text. The time is zero if there is none.
func timestamped(raw []byte) (time.Time, []byte) {
	stamp, text, _ := bytes.Cut(raw, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return time.Time{}, raw
	}
	return at, text
}
