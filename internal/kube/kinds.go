package kube

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// Kind is a kind of object that the provider reads or writes. Kinds in the
// table of internal/kind need no discovery, so that no run requests the
// complete discovery document. [Discovery.RefOf] resolves others.
type Kind = kind.Kind

// Ref references one object.
type Ref struct {
	Kind      Kind
	Namespace string
	Name      string
}

// RefOf returns the reference of obj, of a kind that needs no discovery.
func RefOf(obj *unstructured.Unstructured) (Ref, error) {
	gvk := obj.GroupVersionKind()
	found, ok := kind.Of(gvk.GroupKind())
	if !ok || found.Version != gvk.Version {
		return Ref{}, fmt.Errorf("%s is not a kind that this provider supports", gvk)
	}
	return Ref{Kind: found, Namespace: obj.GetNamespace(), Name: obj.GetName()}, nil
}

// String formats the reference for messages: Deployment ml/trainer, or without
// a name, deployments in namespace ml. Without a kind, it stands for the list of all groups.
func (r Ref) String() string {
	switch all := cmp.Or(r.Kind.Resource, r.Kind.Word(), "the API groups"); {
	case r.Name == "" && r.Namespace == "":
		return all
	case r.Name == "":
		return all + " in namespace " + r.Namespace
	case r.Namespace == "":
		return r.Kind.Word() + " " + r.Name
	default:
		return r.Kind.Word() + " " + r.Namespace + "/" + r.Name
	}
}

// Key identifies the object in a map. String does not: Knative has a kind Service as well.
func (r Ref) Key() string { return r.Kind.GroupKind().String() + " " + r.Namespace + "/" + r.Name }

// Kubectl returns a command about the object for messages: kubectl -n ml describe deployment trainer.
func (r Ref) Kubectl(verb string, options ...string) string {
	words := append(strings.Fields(verb), r.Kind.Argument(), r.Name)
	return ready.Kubectl(r.namespace(), append(words, options...)...)
}

// namespace returns the namespace, or "" for a kind without namespaces.
func (r Ref) namespace() string {
	if r.Kind.ClusterScoped {
		return ""
	}
	return r.Namespace
}

func (r Ref) isSecret() bool { return r.Kind.GroupKind() == kind.Secret().GroupKind() }

// of sets the path of a request to that of the objects of the kind in the
// namespace, or of all namespaces without one.
func (r Ref) of(request *rest.Request) *rest.Request {
	return request.AbsPath(r.root()...).
		NamespaceIfScoped(r.namespace(), r.namespace() != "").Resource(r.Kind.Resource)
}

func (r Ref) root() []string {
	if r.Kind.Group == "" {
		return []string{"/api", r.Kind.Version}
	}
	return []string{"/apis", r.Kind.Group, r.Kind.Version}
}

// unnamed returns a request with the path of named, which is that of r. For a response without a Status, the error of
// client-go then does not name the object: [Error.Again] recognizes the same outage by it.
func (r Ref) unnamed(client rest.Interface, verb string, named *rest.Request) *rest.Request {
	if named.Error() != nil {
		return named // see at
	}
	path := r.root()
	if namespace := r.namespace(); namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	return client.Verb(verb).AbsPath(append(path, r.Kind.Resource, r.Name)...)
}

// at sets the path of a request to that of the object. The request fails, and
// is not sent, if the namespace or the name is not one segment of a path: they
// can be foreign text.
func (r Ref) at(request *rest.Request) *rest.Request { return r.of(request).Name(r.Name) }
