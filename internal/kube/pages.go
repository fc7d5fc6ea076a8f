package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Each lists the objects of the kind and namespace of ref from the server, page
// by page, and passes each object to take. Objects that take does not keep are
// released with the next page. L is a list such as corev1.PodList of items of
// the type T.
func Each[L, T any, PL interface {
	*L
	runtime.Object
}](ctx context.Context, api *API, ref Ref, options metav1.ListOptions, take func(item *T)) error {
	each := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		list := PL(new(L))
		return list, api.page(ctx, ref, options, list)
	})
	each.PageBufferSize = 0
	err := each.EachListItemWithAlloc(ctx, options, func(obj runtime.Object) error {
		item, ok := any(obj).(*T)
		if !ok {
			return fmt.Errorf("an item of the list is a %T", obj)
		}
		take(item)
		return nil
	})
	return Wrap("list", ref, err)
}

// page reads one page of the objects of the kind and namespace of ref into a typed list.
func (a *API) page(ctx context.Context, ref Ref, options metav1.ListOptions, list runtime.Object) error {
	conn, err := a.connect()
	if err != nil {
		return Wrap("list", ref, err)
	}
	data, err := bodyOf(ref.of(conn.rest.Get()).SetHeader("Accept", "application/json").
		SpecificallyVersionedParams(&options, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}).Do(ctx))
	if err == nil {
		err = json.Unmarshal(data, list)
	}
	return a.denied(ctx, "list", Ref{Kind: ref.Kind, Namespace: ref.Namespace}, Wrap("list", ref, err))
}

// PodsNow returns the pods that have all labels of selector, sorted by name, from the server, without the cache.
func PodsNow(ctx context.Context, api *API, namespace string, selector map[string]string) ([]*corev1.Pod, error) {
	var pods []*corev1.Pod
	options := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(selector).String()}
	err := Each[corev1.PodList](ctx, api, Ref{Kind: kind.Pod(), Namespace: namespace}, options,
		func(pod *corev1.Pod) { pods = append(pods, pod) })
	return sortedByName(pods), err
}

// Pods is PodsNow from the shared list and watch of [PodsWith], if there is permission to watch.
func Pods(ctx context.Context, c *Cluster, namespace string, selector map[string]string) ([]*corev1.Pod, error) {
	chosen := labels.SelectorFromSet(selector)
	pods, err := ListAs[corev1.Pod](ctx, c.Store, PodsWith(selector), namespace,
		func(e *Entry) bool { return chosen.Matches(labels.Set(e.Labels)) })
	if ClassOf(err) == Denied {
		return PodsNow(ctx, c.API, namespace, selector) // listing may be allowed without watching
	}
	return sortedByName(pods), err
}

// PodsWith returns the kind whose shared list and watch contains the pods with labels: those of Kubetorch's services,
// those of one Job, or otherwise all pods.
func PodsWith(labels map[string]string) Kind {
	pods := kind.Pod()
	switch job := labels[batchv1.JobNameLabel]; {
	case labels[kind.ServiceLabel] != "":
		return pods
	case job != "":
		pods.LabelSelector = batchv1.JobNameLabel + "=" + job
		return pods
	default:
		return pods.All()
	}
}

func sortedByName(pods []*corev1.Pod) []*corev1.Pod {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}
