package observe

import (
	"context"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// having returns a kind of objects with the labels of the selector: with the shared
// list and watch for those of a Kubetorch service, otherwise with a separate one.
func having(selector map[string]string, of kube.Kind) kube.Kind {
	if _, shared := selector[kind.ServiceLabel]; !shared && len(selector) > 0 {
		of.LabelSelector = labels.Set(selector).String()
	}
	return of
}

// read returns the objects of a namespace that a wait is interested in. The result
// is never nil without an error.
func read[T any](ctx context.Context, c *kube.Cluster, namespace string, of Interest) ([]*T, error) {
	return kube.ListAs[T](ctx, c.Store, of.Kind, namespace, of.About, of.Names...)
}

// podsOf returns the pods that have all labels of selector. The result is never
// nil without an error.
func podsOf(ctx context.Context, c *kube.Cluster, namespace string, selector map[string]string) ([]*corev1.Pod, error) {
	return read[corev1.Pod](ctx, c, namespace, labelled(selector))
}

// labelled returns the pods that have all labels of selector.
func labelled(selector map[string]string) Interest {
	chosen := labels.SelectorFromSet(selector)
	pods := Interest{Kind: having(selector, kind.Pod()),
		About: func(e *kube.Entry) bool { return chosen.Matches(labels.Set(e.Labels)) }}
	if service, ok := selector[kind.ServiceLabel]; ok {
		pods.Names = []string{service}
	}
	return pods
}

// named returns one object.
func named(ref kube.Ref) Interest {
	return Interest{Kind: ref.Kind, About: func(e *kube.Entry) bool { return e.Name == ref.Name }}
}

// replicaSetsOf returns the ReplicaSets that a workload owns. The result is
// never nil without an error.
func replicaSetsOf(
	ctx context.Context, c *kube.Cluster, workload *unstructured.Unstructured, of Interest,
) ([]*appsv1.ReplicaSet, error) {
	all, err := read[appsv1.ReplicaSet](ctx, c, workload.GetNamespace(), of)
	return slices.DeleteFunc(all, func(rs *appsv1.ReplicaSet) bool { return !metav1.IsControlledBy(rs, workload) }), err
}

// replicaSetsNamedAfter returns the ReplicaSets whose names start with that of a
// Deployment. They have the labels of its pods.
func replicaSetsNamedAfter(deployment string, podLabels map[string]string) Interest {
	return Interest{Kind: having(podLabels, kind.ReplicaSet()), Names: []string{deployment},
		About: func(e *kube.Entry) bool { return kind.NamesReplicaSet(e.Name, deployment) }}
}

// eventsOf returns the events of a collection about a workload, the objects
// between it and its pods, and its known pods and claims.
func eventsOf(
	ctx context.Context, c *kube.Cluster, events kube.Kind, namespace string, known ready.Snapshot,
) ([]*corev1.Event, error) {
	of := eventsNamedAfter(known)
	of.Kind = events
	all, err := read[corev1.Event](ctx, c, namespace, of)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(event *corev1.Event) bool { return !concerns(known, event) }), nil
}

// eventsNamedAfter returns the events whose names start with that of a workload,
// or of its known pods and claims. The name of an event starts with the name of
// its object, which avoids decoding the events of all other workloads of the
// namespace.
func eventsNamedAfter(known ready.Snapshot) Interest {
	workload := known.Workload.GetName()
	others := map[string]bool{} // pods and claims that are not named after the workload
	about := func(object string) bool {
		return workload != "" && (object == workload || strings.HasPrefix(object, workload+"-"))
	}
	for _, pod := range known.Pods {
		if !about(pod.Name) {
			others[pod.Name] = true
		}
	}
	for claim := range known.Claims {
		others[claim] = true
	}
	names := slices.Sorted(maps.Keys(others))
	if workload != "" {
		names = append(names, workload)
	}
	return Interest{Kind: kind.Event(), Names: names, About: func(e *kube.Entry) bool {
		object := e.Name[:max(0, strings.LastIndexByte(e.Name, '.'))]
		return others[object] || about(object)
	}}
}

// concerns reports whether an event is about an object of the snapshot, and not
// about a former object of the same name.
func concerns(known ready.Snapshot, event *corev1.Event) bool {
	about := event.InvolvedObject
	same := func(uid types.UID) bool { return uid == "" || about.UID == "" || uid == about.UID }
	group := schema.FromAPIVersionAndKind(about.APIVersion, about.Kind).Group
	own := known.Workload.GroupVersionKind()
	switch {
	case about.Kind == own.Kind && about.Name == known.Workload.GetName() &&
		(about.APIVersion == "" || group == own.Group):
		return same(known.Workload.GetUID())
	case about.Kind == kind.ReplicaSet().Kind && kind.WorkloadOf(own.GroupKind()).ReplicaSets:
		if known.ReplicaSets == nil { // no permission to read them
			return kind.NamesReplicaSet(about.Name, known.Workload.GetName())
		}
		return slices.ContainsFunc(known.ReplicaSets,
			func(rs *appsv1.ReplicaSet) bool { return rs.Name == about.Name && same(rs.UID) })
	case about.Kind == kind.Pod().Kind:
		return slices.ContainsFunc(known.Pods,
			func(pod *corev1.Pod) bool { return pod.Name == about.Name && same(pod.UID) })
	case about.Kind == kind.PersistentVolumeClaim().Kind:
		claim, ok := known.Claims[about.Name]
		return ok && (claim == nil || same(claim.UID))
	}
	return between(own.GroupKind(), known.Workload.GetName(), about) &&
		!ready.LastSeen(event).Before(known.Workload.GetCreationTimestamp().Time)
}

// between reports whether an object is between a workload and its pods, by the
// naming scheme of the controllers. Such objects are not read, so former
// objects of the same name cannot be distinguished by UID.
func between(workload schema.GroupKind, name string, about corev1.ObjectReference) bool {
	rest, ok := strings.CutPrefix(about.Name, name)
	if !ok {
		return false
	}
	pattern, ok := kind.WorkloadOf(workload).Children[about.Kind]
	return ok && pattern.MatchString(rest)
}

// partsOf returns the objects between a workload and its pods with more
// detailed status, or nil if they cannot be read.
func partsOf(
	ctx context.Context, c *kube.Cluster, parts *kind.Parts, workload *unstructured.Unstructured, of Interest,
) []*unstructured.Unstructured {
	found := objects(ctx, c, of.Kind, workload.GetNamespace(), of.About)
	if parts.Label != "" {
		return found
	}
	return slices.DeleteFunc(found,
		func(part *unstructured.Unstructured) bool { return !metav1.IsControlledBy(part, workload) })
}

// partsNamed returns the parts of a workload, by its name. They have the labels of its pods.
func partsNamed(parts *kind.Parts, workload string, podLabels map[string]string) Interest {
	return Interest{Kind: having(podLabels, parts.Kind), About: func(e *kube.Entry) bool {
		if parts.Label != "" {
			return e.Labels[parts.Label] == workload
		}
		return e.Name == workload
	}}
}

// objects returns the objects of a shared collection for which keep returns
// true. It returns nil only without permission to read them.
func objects(
	ctx context.Context, c *kube.Cluster, kind kube.Kind, namespace string, keep func(*kube.Entry) bool,
) []*unstructured.Unstructured {
	found, _ := kube.ListAs[unstructured.Unstructured](ctx, c.Store, kind, namespace, keep)
	return found
}
