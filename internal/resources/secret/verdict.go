package secret

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// opaque is the type of every Secret that the provider makes.
const opaque = "Opaque"

func secretType(obj *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(obj.Object, "type")
	return text
}

// rigid says why Kubernetes lets nobody change the values of a Secret to ours,
// "" where it does (https://kubernetes.io/docs/concepts/configuration/secret/#secret-immutable).
func rigid(live *unstructured.Unstructured) string {
	fixed, _, _ := unstructured.NestedBool(live.Object, "immutable")
	switch {
	case fixed:
		return "Somebody set immutable: true on it. Kubernetes then lets nobody change its values, nor take that back."
	case secretType(live) != opaque:
		return fmt.Sprintf("Its type is %s, which Kubernetes lets nobody change; a kt_secret is of type Opaque.", secretType(live))
	}
	return ""
}

// verdict decides whether an answer of the server stops the plan. What the same
// run may still create is only a warning, and so is a cluster that cannot be
// reached while something new is planned.
func verdict(err error, creating bool) diag.Diagnostic {
	switch class := kube.ClassOf(err); {
	case class == kube.NamespaceMissing, class == kube.KindMissing:
		return tf.Caution(err, "The plan stands if the same run creates what is missing.")
	case class == kube.Denied:
		return tf.Caution(err, "The plan stands from the renderer alone: the server was not asked whether it would take it.")
	case creating && (class == kube.Unreachable || class == kube.Misconfigured):
		return tf.Caution(err, "The plan stands from the renderer alone. Applying it needs the cluster.")
	default:
		return tf.Failure(err)
	}
}
