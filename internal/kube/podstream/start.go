package podstream

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

// StartError reports that a container runtime could not start a command.
type StartError struct {
	Namespace, Pod, Container string
	Err                       error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("cannot run the command in container %s of pod %s: %s", e.Container, e.Pod, e.reason())
}

func (e *StartError) Unwrap() error { return e.Err }

// reason returns the message of the container runtime without what the kubelet and the API server prepend.
func (e *StartError) reason() string {
	_, reason, ok := strings.Cut(e.Err.Error(), "OCI runtime exec failed: ")
	if !ok {
		reason = e.Err.Error()
	}
	return strings.TrimSuffix(printable.Line(reason), ": unknown") // runtimes append the gRPC code
}

// Explain implements the same method as [kube.Error.Explain].
func (e *StartError) Explain() (summary string, cause ready.Cause) {
	return "Cannot start the command in pod " + e.Pod, ready.Cause{
		Summary: "Message of the container runtime: " + e.reason() + ".",
		Object:  fmt.Sprintf("Pod %s/%s, container %s", e.Namespace, e.Pod, e.Container),
		Hint: advice.Of("Check that the program exists in the image, and that its path is correct. The command is " +
			"not interpreted by a shell."),
	}
}

// startError returns err as a *StartError if the kubelet reported it, and otherwise unchanged.
func startError(command Command, err error) error {
	var status apierrors.APIStatus
	failed, ok := errors.AsType[*kube.Error](err)
	if !ok || failed.Class != kube.Other || errors.As(err, &status) || errors.Is(err, errNoStatus) ||
		!strings.Contains(err.Error(), "error executing command in container") { // k8s.io/cri-streaming, exec.go
		return err
	}
	return &StartError{Namespace: command.Pod.Namespace, Pod: command.Pod.Name, Container: command.Container,
		Err: failed.Err}
}
