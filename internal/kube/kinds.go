package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of object that the provider writes or reads, with what a
// request for it needs. The few kinds are listed here, so that no run has to
// ask the server for its whole discovery document.
type Kind struct {
	schema.GroupVersionKind
	// Resource is the plural of the REST path.
	Resource string
	// LabelSelector and FieldSelector restrict the shared list and watch to
	// objects that can concern us.
	LabelSelector, FieldSelector string
	// ClusterScoped kinds have no namespace.
	ClusterScoped bool
	// Immutable lists the fields that Kubernetes never lets change after
	// creation, as the causes of an Invalid status name them. Changing one
	// means replacing the object.
	Immutable []string
}

// ours selects the top-level objects that this provider creates.
const ours = "app.kubernetes.io/managed-by=terraform-provider-kt"

// Deployment is apps/v1 Deployment.
func Deployment() Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Resource:         "deployments", LabelSelector: ours,
		Immutable: []string{"spec.selector"},
	}
}

// Service is the core Service.
func Service() Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Service"},
		Resource:         "services", LabelSelector: ours,
		Immutable: []string{"spec.clusterIP", "spec.clusterIPs"},
	}
}

// Pod is the core Pod; the shared watch holds pods of Kubetorch services.
func Pod() Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Resource:         "pods", LabelSelector: "kubetorch.com/service",
	}
}

// ReplicaSet is apps/v1 ReplicaSet; the shared watch holds those of Kubetorch
// services, whose Deployments give them the labels of their pods.
func ReplicaSet() Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		Resource:         "replicasets", LabelSelector: "kubetorch.com/service",
	}
}

// Event is the core Event; the shared watch holds warnings.
func Event() Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Event"},
		Resource:         "events", FieldSelector: "type=Warning",
	}
}

// Node is the core Node.
func Node() Kind {
	return Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Node"}, Resource: "nodes", ClusterScoped: true}
}

// PersistentVolumeClaim is the core PersistentVolumeClaim.
func PersistentVolumeClaim() Kind {
	return Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}, Resource: "persistentvolumeclaims"}
}

// ServiceAccount is the core ServiceAccount.
func ServiceAccount() Kind {
	return Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, Resource: "serviceaccounts"}
}

// ConfigMap is the core ConfigMap.
func ConfigMap() Kind {
	return Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Resource: "configmaps"}
}

// KindOf finds the kind of an object that the provider writes.
func KindOf(obj *unstructured.Unstructured) (Kind, error) {
	for _, kind := range []Kind{Deployment(), Service()} {
		if kind.GroupVersionKind == obj.GroupVersionKind() {
			return kind, nil
		}
	}
	return Kind{}, fmt.Errorf("%s is not a kind that this provider writes", obj.GroupVersionKind())
}

// Ref names one object.
type Ref struct {
	Kind      Kind
	Namespace string
	Name      string
}

// RefOf names obj.
func RefOf(obj *unstructured.Unstructured) (Ref, error) {
	kind, err := KindOf(obj)
	return Ref{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}, err
}

// String is how messages name the object: Deployment ml/trainer.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind.Kind + " " + r.Name
	}
	return r.Kind.Kind + " " + r.Namespace + "/" + r.Name
}

func (r Ref) gvr() schema.GroupVersionResource {
	return r.Kind.GroupVersion().WithResource(r.Kind.Resource)
}
