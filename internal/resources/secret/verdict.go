package secret

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
