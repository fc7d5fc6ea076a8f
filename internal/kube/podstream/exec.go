// Package podstream runs commands in containers and follows their logs, through the API server.
package podstream

import (
	"context"
	"errors"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/transport"
)

// Command is a command to run in a container that runs.
type Command struct {
	Pod       *corev1.Pod
	Container string
	Args      []string
	Mask      Mask
}

const (
	// drainTime is the time for the connection to end after the container. The exit code and the last lines may
	// arrive in it.
	drainTime = 2 * time.Second
	// reportTime is the time for a kubelet to report why a command was killed.
	reportTime = 5 * time.Second
)

// killed are the exit codes of a process that was ended by SIGKILL or SIGTERM, as when its container ends.
func killed(code int) bool { return code == 128+9 || code == 128+15 }

// Run runs a command and passes each line of its output to line, one at a time. It returns the exit code, which is not
// zero if the command failed. It returns an *EndedError if the container ends before the command, a *StartError if the
// command cannot be started, and otherwise a *kube.Error, with the class Denied without permission to get and create
// pods/exec. It returns as soon as ctx ends, with its cause. The command then continues to run in the container.
func Run(ctx context.Context, c *kube.Cluster, command Command, line func(string)) (code int, err error) {
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan *EndedError, 1)
	go func() {
		end, _ := untilEnd(watching, c, command.Pod, func(now *corev1.Pod) (*EndedError, error) {
			return endOf(command.Pod, now, command.Container), nil
		}) // nil at the end of the context, or if the pod is unreadable
		if end != nil {
			ended <- end
			select {
			case <-watching.Done():
			case <-c.Clock().After(drainTime):
				cancel(end) // the connection may never end if the node is lost
			}
		}
	}()
	code, err = execute(running, c, command, line)
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	wait := time.Duration(0)
	if killed(code) || err != nil && kube.ClassOf(err) != kube.Denied {
		wait = reportTime
	}
	end := received(ctx, c, ended, wait)
	if end == nil && wait > 0 {
		end = endNow(ctx, c, command, killed(code)) // the watch may be late
	}
	if end != nil {
		return 0, end
	}
	return code, err
}

// endNow returns how the container of a command has ended, or nil if it still runs or its pod cannot be read. A
// command that was killed in a pod with a deletion timestamp ended with its container: a kubelet with much to do
// reports that later than the exec connection.
func endNow(ctx context.Context, c *kube.Cluster, command Command, killed bool) *EndedError {
	pod := command.Pod
	now, err := kube.PodNow(ctx, c.API, pod.Namespace, pod.Name)
	if err != nil && !kube.IsNotFound(err) {
		return nil
	}
	end := endOf(pod, now, command.Container)
	if end == nil && killed && now.DeletionTimestamp != nil {
		return endOf(pod, nil, command.Container)
	}
	return end
}

// received returns what a channel contains now, or receives within a time.
func received(ctx context.Context, c *kube.Cluster, from <-chan *EndedError, within time.Duration) (end *EndedError) {
	switch {
	case len(from) > 0: // also without time to wait
		return <-from
	case within > 0:
		select {
		case end = <-from:
		case <-c.Clock().After(within):
		case <-ctx.Done():
		}
	}
	return end
}

// execute is [Run] without the end of the container.
func execute(ctx context.Context, c *kube.Cluster, command Command, line func(string)) (int, error) {
	ref := kube.Ref{Kind: kind.Pod(), Namespace: command.Pod.Namespace, Name: command.Pod.Name}
	executor, resultOf, err := executorFor(ctx, c, ref, command)
	if err != nil {
		return 0, kube.Wrap(runCommand, ref, err)
	}
	out := &output{mask: hiding(c, command.Mask), emit: line}
	defer out.close()
	err = resultOf(executor.StreamWithContext(ctx,
		remotecommand.StreamOptions{Stdout: out.stream(), Stderr: out.stream()}))
	if exited, ok := errors.AsType[exec.CodeExitError](err); ok {
		return exited.Code, nil
	}
	return 0, startError(command, kube.WrapSubresource(runCommand, ref, err))
}

// runCommand is the operation of errors about commands.
const runCommand = "run a command in"

// executorFor returns an executor of one command, and a function that returns the result for the error of the executor.
func executorFor(
	ctx context.Context, c *kube.Cluster, pod kube.Ref, command Command,
) (executor remotecommand.Executor, resultOf func(error) error, err error) {
	config, err := c.API.RESTConfig()
	if err != nil {
		return nil, nil, err
	}
	upgrade := transport.NewUpgrade(ctx, config)
	url, client, upgrader, err := upgrade.To(pod.Namespace, pod.Name, "exec")
	if err != nil {
		return nil, nil, err
	}
	query, err := queryparams.Convert(&corev1.PodExecOptions{
		Container: command.Container, Command: command.Args, Stdout: true, Stderr: true,
	})
	if err != nil {
		return nil, nil, err
	}
	url.RawQuery = query.Encode()
	websocket, err := remotecommand.NewWebSocketExecutor(upgrade.Config, http.MethodGet, url.String())
	if err != nil {
		return nil, nil, err
	}
	status := &statusUpgrader{Upgrader: upgrader}
	older, err := remotecommand.NewSPDYExecutorForTransports(client, status, http.MethodPost, url)
	if err != nil {
		return nil, nil, err
	}
	executor, err = remotecommand.NewFallbackExecutor(websocket, older, transport.NoWebSocket)
	return executor, func(err error) error { return upgrade.Rejection(status.check(err)) }, err
}
