package secret

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
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

// foreign is an error where a Secret is not ours.
func foreign(ref kube.Ref, live *unstructured.Unstructured) diag.Diagnostics {
	managers := owned.Managers(live)
	if slices.Contains(managers, kube.Manager) {
		return nil
	}
	return belongsTo(ref, managers)
}

// foreignAnswer is foreign for the answer of a dry run, in which we hold fields
// in any case: whoever else does was there before.
func foreignAnswer(ref kube.Ref, answer *unstructured.Unstructured) diag.Diagnostics {
	others := slices.DeleteFunc(owned.Managers(answer), func(manager string) bool { return manager == kube.Manager })
	if len(others) == 0 {
		return nil
	}
	return belongsTo(ref, others)
}

func belongsTo(ref kube.Ref, managers []string) diag.Diagnostics {
	return diag.Diagnostics{diag.NewErrorDiagnostic(ref.String()+" belongs to somebody else",
		fmt.Sprintf("%s already exists and was not created by this provider; its fields are managed by %s. "+
			"Import it, choose another name, or set adopt_existing = true to take it over.", ref, strings.Join(managers, ", ")))}
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
