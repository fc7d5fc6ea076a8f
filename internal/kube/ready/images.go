package ready

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// imageTrouble is whether a container waits because its image cannot be had.
// The names are the kubelet's (pkg/kubelet/images) and the CRI's (cri-api/pkg/errors).
func imageTrouble(waiting string) bool {
	switch waiting {
	case "InvalidImageName", "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull",
		"ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		return true
	}
	return false
}

func (s *scene) imageCause(p *corev1.Pod, name string, w corev1.ContainerStateWaiting) *Cause {
	image := container(p, name).Image
	subject := "image " + image
	switch w.Reason {
	case "InvalidImageName":
		return s.newPodCause(p, ReasonInvalidImageName, subject,
			fmt.Sprintf("Image name %q is not valid: %s", image, clip(pullError(w.Message))),
			"Correct `image`: [registry/]repository[:tag][@digest], repository in lower case.").terminal(0)
	case "ErrImageNeverPull":
		return s.newPodCause(p, ReasonImagePullFailed, subject,
			fmt.Sprintf("Image %q is not on node %s, and its pull policy is Never.", image, p.Spec.NodeName),
			"Set `image_pull_policy` to IfNotPresent, or put the image on the nodes.").terminal(pullGrace)
	}
	message := pullError(w.Message)
	if message == "" {
		// Kubelets before 1.31 say only that they back off; the event has the error.
		if e := s.containerEvents(p, name).latestWhere(failedPull); e != nil {
			message = pullError(e.Message)
		}
	}
	if message == "" {
		message = w.Reason
	}
	c := s.newPodCause(p, ReasonImagePullFailed, subject,
		fmt.Sprintf("Image %q cannot be pulled: %s", image, clip(message)), pullHint(message))
	switch outlook := pullProspect(message, w.Reason); outlook {
	case pullIsLater:
		c.Summary = andThen(c.Summary, "The kubelet tries again by itself.")
		return c
	case pullMayRecover:
		return c.terminal(recoverGrace)
	case pullIsRefused:
	}
	return c.terminal(pullGrace)
}

func failedPull(e *corev1.Event) bool {
	return e.Reason == "Failed" && strings.HasPrefix(e.Message, "Failed to pull image")
}

// pullWrapper is what kubelet and runtime put before the error that matters.
var pullWrapper = regexp.MustCompile(`^(?:Back-off pulling image "[^"]*"|Failed to pull image "[^"]*"|` +
	`Failed to apply default image tag "[^"]*"|ErrImagePull|ImagePullBackOff|RegistryUnavailable|SignatureValidationFailed|` +
	`failed to pull and unpack image "[^"]*"|failed to resolve (?:reference|image) "[^"]*"|failed to do request|` +
	`rpc error: code = \w+ desc =)(?:: *| +|$)`)

// pullError is the innermost error of a message about a pull.
func pullError(message string) string {
	for {
		rest := pullWrapper.ReplaceAllString(message, "")
		if rest == message {
			return strings.TrimSpace(message)
		}
		message = rest
	}
}

// prospect is what further attempts to pull an image may come to.
type prospect int

const (
	pullIsRefused  prospect = iota // by the registry, or for what the image is: the same answer each time
	pullMayRecover                 // the registry cannot be reached now; that passes, or is how the network is
	pullIsLater                    // whoever refuses says by when: the kubelet goes on by itself
)

// pullHints go by what registries, containerd, CRI-O and Docker write. The first
// row that matches counts.
func pullHints() []pullHintRow {
	return []pullHintRow{
		{[]string{"pull qps exceeded"}, "", pullIsLater},
		{[]string{"no space left", "disk quota"}, "Use nodes with a larger disk, if the kubelet does not make room by removing unused images.", pullIsLater},
		{[]string{"no match for platform", "no matching manifest", "no image found in manifest list"}, "Choose other nodes with `node_selector`, or build the image for the architecture of this one.", pullIsRefused},
		{[]string{"toomanyrequests", "too many requests", "rate limit"}, "Pull with an account (imagePullSecrets of the service account), or from a mirror: the registry limits how often it is asked.", pullIsLater},
		{[]string{"unauthorized", "authorization failed", "access denied", "authentication required", "no basic auth", "403 forbidden", "permission denied", "denied:"}, "Check the name, and give the service account an imagePullSecret for this registry.", pullIsRefused},
		{[]string{"x509", "certificate"}, "Have the nodes trust the registry's certificate.", pullIsRefused},
		{[]string{"no such host"}, noWayToRegistry, pullIsRefused},
		{[]string{
			"dial tcp", "i/o timeout", "connection refused", "connection reset", "tls handshake timeout", "deadline exceeded", "network is unreachable",
			"no route to host", "name resolution", "server misbehaving", "unexpected eof", ": eof", "broken pipe",
		}, noWayToRegistry, pullMayRecover},
		{[]string{
			"500 internal server error", "502 bad gateway", "503 service unavailable", "504 gateway", "registry is unavailable", "code = unavailable",
		}, "Look at the status of the registry: it does not work at the moment.", pullMayRecover},
		{[]string{"not found", "manifest unknown", "name unknown", "does not exist"}, "Check the name and tag in `image`: the registry does not have it.", pullIsRefused},
		{[]string{"signature"}, "Sign the image as the policy of the nodes demands.", pullIsRefused},
	}
}

const noWayToRegistry = "Check the registry's name in `image`, and that the nodes can reach it."

type pullHintRow struct {
	words    []string
	hint     string
	prospect prospect
}

func pullHint(message string) string { return pullHintOf(message).hint }

// pullProspect goes by the message, and where that says nothing by the reason
// that the container waits for.
func pullProspect(message, waiting string) prospect {
	if message == waiting && (waiting == "RegistryUnavailable" || waiting == "ImageInspectError") {
		return pullMayRecover
	}
	return pullHintOf(message).prospect
}

func pullHintOf(message string) pullHintRow {
	low := strings.ToLower(message)
	for _, h := range pullHints() {
		for _, w := range h.words {
			if strings.Contains(low, w) {
				return h
			}
		}
	}
	return pullHintRow{hint: "Check `image`, and that the nodes can reach its registry."}
}
