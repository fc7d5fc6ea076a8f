package ready

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// imageUnavailable reports whether a container waits because its image is not
// available. The names are those of the kubelet (pkg/kubelet/images) and the
// CRI's (cri-api/pkg/errors).
func imageUnavailable(waiting string) bool {
	return slices.Contains([]string{"InvalidImageName", "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull",
		"ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"}, waiting)
}

func (d containerDiagnosis) imageCause(w *corev1.ContainerStateWaiting) *Cause {
	image := d.spec.Image
	subject := "image " + image
	switch w.Reason {
	case "InvalidImageName":
		return d.cause(ReasonInvalidImageName, subject,
			fmt.Sprintf("Invalid image name %q: %s", image, clip(pullError(w.Message))),
			"Correct %s: [registry/]repository[:tag][@digest], repository in lower case.", d.field(advice.Image)).
			terminal(0)
	case "ErrImageNeverPull":
		return d.cause(ReasonImagePullFailed, subject,
			fmt.Sprintf("Image %q is not on node %s, and its pull policy is Never.", image, d.pod.Spec.NodeName),
			"Set the image pull policy to IfNotPresent, or load the image onto the nodes.").terminal(pullGrace)
	}
	message := pullError(w.Message)
	if message == "" {
		// Kubelets before 1.31 report only the back-off. The event contains the
		// error.
		if e := d.containerEvents().latestWhere(failedPull); e != nil {
			message = pullError(e.Message)
		}
	}
	message = cmp.Or(message, w.Reason)
	row := pullHintOf(message, d.field(advice.Image))
	c := d.cause(ReasonImagePullFailed, subject,
		fmt.Sprintf("Image %q cannot be pulled: %s", image, clip(message)), "%s", row.hint)
	grace := row.prospect
	if message == "RegistryUnavailable" || message == "ImageInspectError" { // the reason of the container alone
		grace = pullMayRecover
	}
	if missing := d.unreadPullSecrets(); len(missing) > 0 && grace == pullIsRefused {
		c.Summary = andThen(c.Summary, "The kubelet cannot read the image pull secrets: "+Listed(missing, 5)+".")
		c.Hint = advice.Of("Create the Secrets in the namespace of the pods, or correct %s.", advice.PullSecrets)
		c.Command = Kubectl(d.pod.Namespace, "get", "secrets")
	}
	if grace == pullIsLater {
		c.Summary = andThen(c.Summary, "The kubelet retries automatically.")
		return c
	}
	return c.terminal(grace)
}

// unreadPullSecrets returns the image pull secrets of the pod that the kubelet could not read. It then pulls without
// them (getPullSecretsForPod in pkg/kubelet/kubelet_pods.go).
func (d podDiagnosis) unreadPullSecrets() []string {
	e := d.events.latest("FailedToRetrieveImagePullSecret")
	if e == nil {
		return nil
	}
	_, list, _ := strings.Cut(e.Message, "(")
	list, _, _ = strings.Cut(list, ")")
	unread := strings.Split(list, ", ")
	names := kind.Each(d.pod.Spec.ImagePullSecrets, func(ref corev1.LocalObjectReference) string { return ref.Name })
	return filter(names, func(name string) bool { return slices.Contains(unread, name) })
}

func failedPull(e *corev1.Event) bool {
	return e.Reason == "Failed" && strings.HasPrefix(e.Message, "Failed to pull image")
}

// pullWrapper matches the prefixes that kubelet and runtime add to the actual
// error.
var pullWrapper = regexp.MustCompile(`^(?:Back-off pulling image "[^"]*"|Failed to pull image "[^"]*"|` +
	`Failed to apply default image tag "[^"]*"|ErrImagePull|ImagePullBackOff|RegistryUnavailable|` +
	`SignatureValidationFailed|failed to pull and unpack image "[^"]*"|failed to resolve (?:reference|image) "[^"]*"|` +
	`failed to do request|rpc error: code = \w+ desc =)(?:: *| +|$)`)

// pullError returns the innermost error of a message about a pull.
func pullError(message string) string {
	for {
		rest := pullWrapper.ReplaceAllString(message, "")
		if rest == message {
			return strings.TrimSpace(message)
		}
		message = rest
	}
}

// Prospects of further attempts to pull an image, as the grace periods of their causes.
const (
	pullIsRefused  = pullGrace    // by the registry, or because of the image: every attempt fails
	pullMayRecover = recoverGrace // the registry is unreachable, temporarily or because of the network
	pullIsLater    = 0            // temporary by its nature: the kubelet retries
)

// pullHints maps messages of registries, containerd, CRI-O and Docker about an
// image. The first matching row applies.
func pullHints(image advice.Text) []pullHintRow {
	unreachable := advice.Of("Check the name of the registry in %s, and that the nodes can reach the registry.", image)
	return []pullHintRow{
		{[]string{"pull qps exceeded"}, pullIsLater, advice.Text{}},
		{[]string{"no space left", "disk quota"}, pullIsLater,
			advice.Of("Use nodes with a larger disk if the kubelet cannot free space by removing unused images.")},
		{[]string{"no match for platform", "no matching manifest", "no image found in manifest list"}, pullIsRefused,
			advice.Of("Select other nodes with %s, or build the image for the architecture of this node.",
				advice.NodeSelector)},
		{[]string{"toomanyrequests", "too many requests", "rate limit"}, pullIsLater,
			advice.Of("Pull with an account (%s), or from a mirror: the registry limits the request rate.",
				advice.PullSecrets)},
		{[]string{"unauthorized", "authorization failed", "access denied", "authentication required", "no basic auth",
			"403 forbidden", "permission denied", "denied:"}, pullIsRefused,
			advice.Of("Check the name, and set credentials for this registry in %s.", advice.PullSecrets)},
		{[]string{"x509", "certificate"}, pullIsRefused,
			advice.Of("Configure the nodes to trust the certificate of the registry.")},
		{[]string{"no such host"}, pullIsRefused, unreachable},
		{[]string{"dial tcp", "i/o timeout", "connection refused", "connection reset", "tls handshake timeout",
			"deadline exceeded", "network is unreachable", "no route to host", "name resolution", "server misbehaving",
			"unexpected eof", ": eof", "broken pipe"}, pullMayRecover, unreachable},
		{[]string{"500 internal server error", "502 bad gateway", "503 service unavailable", "504 gateway",
			"registry is unavailable", "code = unavailable"}, pullMayRecover,
			advice.Of("Check the status of the registry: it is currently unavailable.")},
		{[]string{"not found", "manifest unknown", "name unknown", "does not exist"}, pullIsRefused,
			advice.Of("Check the name and tag in %s: the registry does not contain the image.", image)},
		{[]string{"signature"}, pullIsRefused, advice.Of("Sign the image as the policy of the nodes requires.")},
		{[]string{""}, pullIsRefused, // others
			advice.Of("Check %s, and that the nodes can reach its registry.", image)},
	}
}

type pullHintRow struct {
	words    []string
	prospect time.Duration
	hint     advice.Text
}

func pullHintOf(message string, image advice.Text) pullHintRow {
	return first(pullHints(image), func(row pullHintRow) bool { return mentions(message, row.words...) })
}
