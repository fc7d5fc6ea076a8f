package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Kind is a kind of object that the provider writes or reads. Those of the table
// in internal/kind need no look-up, so that no run has to ask the server for its
// whole discovery document; [Cluster.RefOf] finds others.
type Kind = kind.Kind

// KindOf finds the kind of an object among those that need no discovery.
func KindOf(obj *unstructured.Unstructured) (Kind, error) {
	gvk := obj.GroupVersionKind()
	if found, ok := kind.Of(gvk.GroupKind()); ok && found.Version == gvk.Version {
		return found, nil
	}
	return Kind{}, fmt.Errorf("%s is not a kind that this provider knows", gvk)
}

// Ref names one object.
type Ref struct {
	Kind      Kind
	Namespace string
	Name      string
}

// RefOf names obj, of a kind that needs no discovery.
func RefOf(obj *unstructured.Unstructured) (Ref, error) {
	kind, err := KindOf(obj)
	return Ref{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}, err
}

// String is how messages name the object, Deployment ml/trainer, and without a
// name all of the kind: deployments in namespace ml.
func (r Ref) String() string {
	switch {
	case r.Name == "" && r.Kind.Resource != "" && r.Namespace == "":
		return r.Kind.Resource
	case r.Name == "" && r.Kind.Resource != "":
		return r.Kind.Resource + " in namespace " + r.Namespace
	case r.Namespace == "":
		return r.Kind.Word() + " " + r.Name
	default:
		return r.Kind.Word() + " " + r.Namespace + "/" + r.Name
	}
}

func (r Ref) gvr() schema.GroupVersionResource {
	return r.Kind.GroupVersion().WithResource(r.Kind.Resource)
}
