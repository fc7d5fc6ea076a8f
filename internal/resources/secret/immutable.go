package secret

import (
	"fmt"

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
	case immutable:
		return "It has immutable: true, which cannot be reverted. Its values cannot be changed."
	case secretType(live) != opaque:
		return fmt.Sprintf("Its type is %s, which is immutable. A kt_secret has the type Opaque.", secretType(live))
	}
	return ""
}
