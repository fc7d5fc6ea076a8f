package kube

import (
	"context"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/client-go/rest"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// maxLog is the maximum size of the last lines of a log in bytes, which are kept in memory.
const maxLog = 1 << 20

// Logs returns the last lines of a container log, of the previous run if set.
func (a *API) Logs(
	ctx context.Context, namespace, pod, container string, previous bool, lines int,
) ([]string, error) {
	stream, err := a.StreamLogs(ctx, namespace, pod, corev1.PodLogOptions{
		Container: container, Previous: previous, TailLines: new(int64(lines)), LimitBytes: new(int64(maxLog)),
	})
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	text, err := io.ReadAll(stream)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n"), nil
}

// StreamLogs opens the log of a container. The caller must close it. It ends
// with ctx and, if it is followed, with the container. Errors are of type
// *Error, with the class Denied without permission to get pods/log.
func (a *API) StreamLogs(
	ctx context.Context, namespace, pod string, options corev1.PodLogOptions,
) (io.ReadCloser, error) {
	ref := Ref{Kind: kind.Pod(), Namespace: namespace, Name: pod}
	conn, err := a.connect()
	if err != nil {
		return nil, Wrap(readLogs, ref, err)
	}
	request := ref.at(conn.rest.Get()).SubResource("log").WarningHandler(rest.NoWarnings{})
	params, err := queryparams.Convert(&options)
	if err != nil {
		return nil, Wrap(readLogs, ref, err)
	}
	for name := range params {
		request = request.Param(name, params.Get(name))
	}
	stream, err := request.Stream(ctx)
	return stream, WrapSubresource(readLogs, ref, err)
}

// readLogs is the operation of errors about logs.
const readLogs = "read the logs of"

// WrapSubresource is [Wrap] for a connection to a pod, such as its log. No
// admission rejects it except that of webhooks, so Forbidden means a missing
// permission.
func WrapSubresource(op string, pod Ref, err error) error {
	wrapped := Wrap(op, pod, err)
	if e, ok := wrapped.(*Error); ok && apierrors.IsForbidden(e.Err) { //nolint:errorlint // created by Wrap above
		e.Class = Denied
	}
	return wrapped
}
