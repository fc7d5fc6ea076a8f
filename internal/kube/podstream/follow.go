package podstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// Logs selects the logs of several containers.
type Logs struct {
	kube.PodSource
	Container string // "" means the main container
	All       bool   // all containers instead, also those that initialize the pod
	Previous  bool   // of the previous runs of the containers
	Follow    bool   // until ctx ends; pods that appear are included
	TailLines *int64 // of each container; nil: all
	Since     *time.Duration
	// Mask returns the mask for the lines of a pod.
	Mask func(ctx context.Context, pod *corev1.Pod) (Mask, error)
}

// Line is a line of a log, or a message about a container or its pod.
type Line struct {
	Pod, Container string // Container is "" if only one is read
	Text           string
	Event          bool // Text is a message about the container, such as its end
}

// Totals counts what was read.
type Totals struct{ Pods, Containers, Lines int }

// Read passes the lines of all logs to emit, one at a time. Without Follow, it returns after the last existing line.
// With Follow, it returns an error only if a log cannot be read, and otherwise nil at the end of ctx.
func (l Logs) Read(ctx context.Context, c *kube.Cluster, emit func(Line)) (Totals, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := &follower{logs: l, cluster: c, emit: emit, cancel: cancel, runs: map[run]bool{}, pods: map[types.UID]string{}}
	err := f.follow(ctx)
	f.reading.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failure != nil {
		return f.totals(), f.failure
	}
	if l.Follow && ctx.Err() != nil {
		err = nil
	}
	return f.totals(), err
}

// run is one run of a container.
type run struct {
	pod       types.UID
	container string
	restarts  int32
}

// follower reads the logs of the containers that run.
type follower struct {
	logs    Logs
	cluster *kube.Cluster
	cancel  context.CancelCauseFunc
	reading sync.WaitGroup

	pods map[types.UID]string // names of the pods that exist; only for follow

	mu      sync.Mutex
	runs    map[run]bool // whose logs are read; only follow writes
	emit    func(Line)
	lines   int   // that were passed on
	failure error // the first error
}

func (f *follower) follow(ctx context.Context) error {
	selected := kube.PodsWith(f.logs.Labels)
	watch := &observe.Objects{Changes: f.cluster.Store, Namespace: f.logs.Namespace, Of: observe.AllOf(selected)}
	_, err := observe.Until(ctx, f.cluster.Clock(), watch, func() (observe.Step[int], error) {
		pods, err := f.logs.Pods(ctx, f.cluster)
		if err != nil {
			return observe.Step[int]{}, err
		}
		f.noteDeleted(pods)
		for _, pod := range pods {
			if err := f.start(ctx, pod); err != nil {
				return observe.Step[int]{}, err
			}
		}
		return observe.Step[int]{Done: !f.logs.Follow, Within: observe.Recheck(
			f.cluster.Store.WatchesAll(ctx, selected, f.logs.Namespace))}, nil
	})
	return err
}

// noteDeleted reports the pods that no longer exist.
func (f *follower) noteDeleted(pods []*corev1.Pod) {
	now := map[types.UID]string{}
	for _, pod := range pods {
		now[pod.UID] = pod.Name
	}
	for uid, name := range f.pods {
		if _, exists := now[uid]; !exists {
			f.pass(Line{Pod: name, Text: "the pod was deleted", Event: true})
		}
	}
	f.pods = now
}

// start reads the logs of the containers of a pod that have started since the last call.
func (f *follower) start(ctx context.Context, pod *corev1.Pod) error {
	var mask Mask
	for _, container := range f.containers(pod) {
		status := ready.StatusOf(pod, container)
		one := run{pod: pod.UID, container: container, restarts: status.RestartCount}
		if f.runs[one] || !f.readable(status) {
			continue
		}
		if mask == nil {
			var err error
			if mask, err = f.logs.Mask(ctx, pod); err != nil {
				return err
			}
		}
		f.mu.Lock()
		f.runs[one] = true
		f.mu.Unlock()
		f.reading.Go(func() { f.read(ctx, pod, one, mask) })
	}
	return nil
}

// totals counts what was read.
func (f *follower) totals() Totals {
	pods, containers := sets.New[types.UID](), sets.New[run]()
	for one := range f.runs {
		pods.Insert(one.pod)
		containers.Insert(run{pod: one.pod, container: one.container})
	}
	return Totals{Pods: pods.Len(), Containers: containers.Len(), Lines: f.lines}
}

// readable reports whether a container has a log.
func (f *follower) readable(status corev1.ContainerStatus) bool {
	if f.logs.Previous {
		return status.LastTerminationState.Terminated != nil
	}
	// Before a restart, the log is that of the last run.
	return status.State.Running != nil || status.State.Terminated != nil ||
		status.LastTerminationState.Terminated != nil
}

// containers returns the names of the containers of a pod whose logs are read.
func (f *follower) containers(pod *corev1.Pod) []string {
	if f.logs.All {
		return Containers(pod)
	}
	return []string{cmp.Or(f.logs.Container, ready.MainContainer(pod))}
}

// Containers returns the names of all containers of a pod, in the order in which they start.
func Containers(pod *corev1.Pod) []string {
	return kind.Each(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers),
		func(container corev1.Container) string { return container.Name })
}

// read reads the log of one run of a container.
func (f *follower) read(ctx context.Context, pod *corev1.Pod, one run, mask Mask) {
	line := Line{Pod: pod.Name}
	if f.logs.All {
		line.Container = one.container
	}
	log := Log{Namespace: pod.Namespace, Pod: pod.Name, Container: one.container, Previous: f.logs.Previous,
		Follow: f.logs.Follow && !f.logs.Previous, TailLines: f.logs.TailLines, Since: f.logs.Since, Mask: mask}
	if one.restarts > 0 && f.logs.Follow && f.seenBefore(one) {
		log.TailLines, log.Since = nil, nil // the start of a new run is part of what is followed
	}
	err := log.Read(ctx, f.cluster, func(text string) {
		line := line
		line.Text = text
		f.pass(line)
	})
	switch {
	case ctx.Err() != nil:
	case kube.IsNotFound(err): // reported by noteDeleted
	case err != nil:
		f.fail(err)
	case f.logs.Follow:
		f.reportEnd(ctx, pod, one, line)
	}
}

// seenBefore reports whether an earlier run of the same container was read.
func (f *follower) seenBefore(one run) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for other := range f.runs {
		if other.pod == one.pod && other.container == one.container && other.restarts < one.restarts {
			return true
		}
	}
	return false
}

// reportEnd passes on how a container ended.
func (f *follower) reportEnd(ctx context.Context, pod *corev1.Pod, one run, line Line) {
	now, err := kube.PodNow(ctx, f.cluster.API, pod.Namespace, pod.Name)
	if err != nil || now.UID != one.pod {
		return // reported by noteDeleted, or not essential
	}
	status := ready.StatusOf(now, one.container)
	ended := status.State.Terminated
	if status.RestartCount > one.restarts {
		ended = status.LastTerminationState.Terminated
	}
	if ended == nil {
		return
	}
	line.Event, line.Text = true, fmt.Sprintf("container %s ended with exit code %d", one.container, ended.ExitCode)
	if ended.Reason != "" && ended.Reason != "Completed" && ended.Reason != "Error" {
		line.Text += fmt.Sprintf(" (%s)", ended.Reason)
	}
	f.pass(line)
}

func (f *follower) pass(line Line) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !line.Event {
		f.lines++
	}
	f.emit(line)
}

// fail ends all streams because one cannot be read.
func (f *follower) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failure == nil && !errors.Is(err, context.Canceled) {
		f.failure = err
		f.cancel(err)
	}
}
