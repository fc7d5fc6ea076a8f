package podstream

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// EndedError reports that a container ended while its output was needed.
type EndedError struct {
	Namespace, Pod, Container string
	// Reason is a clause such as "the pod was deleted".
	Reason string
	// OutOfMemory reports whether the container exceeded its memory limit.
	OutOfMemory bool
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("pod %s/%s: %s", e.Namespace, e.Pod, e.Reason)
}

// Explain implements the same method as [kube.Error.Explain].
func (e *EndedError) Explain() (summary string, cause ready.Cause) {
	cause = ready.Cause{
		Summary: "The command was cut off: " + e.Reason + ". It may have been executed in part.",
		Object:  fmt.Sprintf("Pod %s/%s, container %s", e.Namespace, e.Pod, e.Container),
		Command: ready.Kubectl(e.Namespace, "get", "events", "--field-selector", "involvedObject.name="+e.Pod),
	}
	if e.OutOfMemory {
		cause.Hint = advice.Of("Increase %s.", advice.MemoryLimit)
	}
	return fmt.Sprintf("Pod %s ended during the command", e.Pod), cause
}

// untilEnd calls check with each version of a pod, or with nil if it does not exist, until check returns a result.
func untilEnd[T any](
	ctx context.Context, c *kube.Cluster, pod *corev1.Pod, check func(now *corev1.Pod) (*T, error),
) (*T, error) {
	ref := kube.Ref{Kind: kube.PodsWith(pod.Labels), Namespace: pod.Namespace, Name: pod.Name}
	watch := &observe.Objects{Changes: c.Store, Namespace: pod.Namespace, Of: observe.AllOf(ref.Kind)}
	return observe.Until(ctx, c.Clock(), watch, func() (observe.Step[*T], error) {
		now, err := kube.As[corev1.Pod](c.Store.Get(ctx, ref))
		if err != nil && !kube.IsNotFound(err) {
			return observe.Step[*T]{}, err
		}
		end, err := check(now)
		return observe.Step[*T]{Value: end, Done: end != nil, Within: observe.Recheck(c.Store.Watches(ref))}, err
	})
}

// AwaitExit waits until a container ends, and returns how. It returns an *EndedError if its pod is deleted before. A
// pod whose deletion and whose end are first seen together counts as deleted before: its exit code may be that of
// SIGTERM.
func AwaitExit(
	ctx context.Context, c *kube.Cluster, pod *corev1.Pod, container string,
) (*corev1.ContainerStateTerminated, error) {
	return untilEnd(ctx, c, pod, func(now *corev1.Pod) (*corev1.ContainerStateTerminated, error) {
		if now != nil && now.UID == pod.UID && now.DeletionTimestamp == nil {
			if ended := ready.StatusOf(now, container).State.Terminated; ended != nil {
				return ended, nil
			}
		}
		if end := endOf(pod, now, container); end != nil {
			return nil, end
		}
		return nil, nil //nolint:nilnil // it still runs
	})
}

// OutOfMemory returns the error for a container that was killed because it exceeded its memory limit, or nil.
func OutOfMemory(pod *corev1.Pod, container string, end *corev1.ContainerStateTerminated) *EndedError {
	if end.Reason != ready.OOMKilled {
		return nil
	}
	return &EndedError{Namespace: pod.Namespace, Pod: pod.Name, Container: container, OutOfMemory: true,
		Reason: fmt.Sprintf("container %s exceeded its memory limit (OOMKilled)", container)}
}

// endOf returns how a container ended that ran in the pod before, or nil if it still runs. now is nil if the pod no
// longer exists.
func endOf(before, now *corev1.Pod, container string) *EndedError {
	end := &EndedError{Namespace: before.Namespace, Pod: before.Name, Container: container}
	if now == nil || now.UID != before.UID {
		end.Reason = "the pod was deleted"
		return end
	}
	was, is := ready.StatusOf(before, container), ready.StatusOf(now, container)
	last := is.State.Terminated
	if last == nil && is.RestartCount > was.RestartCount {
		last = is.LastTerminationState.Terminated
	}
	switch {
	case last != nil && last.Reason == ready.OOMKilled:
		return OutOfMemory(before, container, last)
	case now.DeletionTimestamp != nil && last != nil:
		end.Reason = "the pod was deleted"
	case now.Status.Reason != "" && now.Status.Phase == corev1.PodFailed:
		end.Reason = fmt.Sprintf("the pod failed (%s)", now.Status.Reason)
	case last != nil:
		end.Reason = fmt.Sprintf("container %s ended with exit code %d", container, last.ExitCode)
	case is.RestartCount > was.RestartCount:
		end.Reason = fmt.Sprintf("container %s was restarted", container)
	case ready.PodEnded(now):
		end.Reason = fmt.Sprintf("the pod ended (%s)", now.Status.Phase)
	default:
		return nil
	}
	return end
}
