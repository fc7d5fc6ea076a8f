package secret

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// opaque is the type of every Secret that the provider creates.
const opaque = "Opaque"

func secretType(obj *unstructured.Unstructured) string { return kind.TextAt(obj.Object, "type") }

// immutableReason returns the reason why the values of a Secret cannot be changed, or ""
// (https://kubernetes.io/docs/concepts/configuration/secret/#secret-immutable).
func immutableReason(live *unstructured.Unstructured) string {
	immutable, _, _ := unstructured.NestedBool(live.Object, "immutable")
	switch {
	case secretType(live) != opaque:
		return fmt.Sprintf("Its type is %s, which is immutable. A kt_secret has the type Opaque.", secretType(live))
	case immutable:
		return "It has immutable: true, which cannot be reverted. Its values cannot be changed."
	}
	return ""
}

// leaveToClient returns the next step for a Secret of another type than that of a kt_secret, or "".
func leaveToClient(live *unstructured.Unstructured) string {
	attribute := "secrets"
	switch corev1.SecretType(secretType(live)) {
	case corev1.SecretTypeOpaque:
		return ""
	case corev1.SecretTypeDockerConfigJson, corev1.SecretTypeDockercfg:
		attribute = "image_pull_secrets"
	case corev1.SecretTypeTLS:
		attribute = "expose.tls_secret_name"
	}
	return "\n\nNext step: Leave the Secret to the client that created it, and name it in " + attribute + " of " +
		"kt_compute. Remove the kt_secret from the configuration, and from the state if it was imported:\n" +
		"  terraform state rm ADDRESS"
}
