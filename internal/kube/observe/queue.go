package observe

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// queueOf reads the state of the queue that holds a workload, and returns the
// objects whose changes may affect it. It sends no requests for a workload that
// no queue holds. Objects without read permission are left out.
func queueOf(
	ctx context.Context, c *kube.Cluster, workload *unstructured.Unstructured, pods []*corev1.Pod,
) (*ready.Queue, []Interest) {
	if !ready.IsSuspended(workload) && !slices.ContainsFunc(pods, ready.IsQueued) {
		return nil, nil
	}
	q := &ready.Queue{Namespace: workload.GetNamespace()}
	if q.Scheduler, q.Name = ready.QueueOf(workload, pods); q.Name == "" {
		return nil, nil
	}
	version, err := c.Discovery.Preferred(ctx, groupOf(q.Scheduler))
	if q.NotInstalled = err == nil && version == ""; version == "" {
		return q, nil
	}
	if q.Scheduler == kind.QueueSchedulerKAI {
		q.Queues = objects(ctx, c, kind.KAIQueue(), "", nil)
		q.Holds = objects(ctx, c, kind.KAIPodGroup(), q.Namespace, func(e *kube.Entry) bool {
			return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return ready.PodGroupOf(pod) == e.Name })
		})
		return q, AllOf(kind.KAIQueue(), kind.KAIPodGroup())
	}
	localQueues, workloads := kind.LocalQueue(version), kind.KueueWorkload(version)
	kinds := []kube.Kind{localQueues, workloads}
	q.Queues = objects(ctx, c, localQueues, q.Namespace, nil)
	q.Holds = objects(ctx, c, workloads, q.Namespace, holdsAny(pods, workload.GetUID()))
	if of := workload.GroupVersionKind().GroupKind(); q.Holds != nil && len(q.Holds) == 0 && KueueExcludes(ctx, c, of) {
		q.Excluded = kind.KueueFramework(of)
	}
	if name := q.ClusterQueueOf(); name != "" {
		clusterQueues := kind.ClusterQueue(version)
		kinds = append(kinds, clusterQueues)
		named := func(e *kube.Entry) bool { return e.Name == name }
		for _, found := range objects(ctx, c, clusterQueues, "", named) {
			q.ClusterQueue = found
		}
	}
	return q, AllOf(kinds...)
}

// KueueIgnores reports whether pods of a workload run although Kueue has no
// Workload for it: then the label of the queue has no effect, since Kueue
// manages only the kinds that its configuration lists. It is false without
// Kueue, and without permission to read its Workloads.
func KueueIgnores(ctx context.Context, c *kube.Cluster, ref kube.Ref, podLabels map[string]string) (bool, error) {
	workload, err := c.Store.Get(ctx, ref)
	if err != nil {
		return false, err
	}
	held, pods, err := KueueWorkloads(ctx, c, ref.Namespace, podLabels, workload.GetUID())
	runs := func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil }
	managed := func(pod *corev1.Pod) bool { return pod.Labels[kind.KueueManagedLabel] == "true" }
	return err == nil && len(held) == 0 && slices.ContainsFunc(pods, runs) && !slices.ContainsFunc(pods, managed), nil
}

// KueueWorkloads returns the pods with these labels, and the Workloads of Kueue for them and for the objects with these
// UIDs. Without Kueue, it returns neither. Without labels, it returns no pods.
func KueueWorkloads(
	ctx context.Context, c *kube.Cluster, namespace string, podLabels map[string]string, uids ...types.UID,
) ([]*unstructured.Unstructured, []*corev1.Pod, error) {
	version, err := c.Discovery.Preferred(ctx, kind.KueueGroup)
	if err != nil || version == "" {
		return nil, nil, err
	}
	var pods []*corev1.Pod
	if podLabels != nil {
		if pods, err = podsOf(ctx, c, namespace, podLabels); err != nil {
			return nil, nil, err
		}
	}
	held, err := kube.ListAs[unstructured.Unstructured](ctx, c.Store, kind.KueueWorkload(version), namespace,
		holdsAny(pods, uids...))
	return held, pods, err
}

// KueueRuns reports whether Kueue has started the pods of a workload, so that it stops them after some updates. It is
// true if that is unknown: a workload in a queue is created suspended, and only Kueue resumes it. Workloads of its pods
// do not count: Kueue admits pods one by one if its configuration excludes the kind.
func KueueRuns(ctx context.Context, c *kube.Cluster, namespace string, workload types.UID) bool {
	held, _, err := KueueWorkloads(ctx, c, namespace, nil, workload)
	return err != nil || len(ready.Reserved(held, "")) > 0
}

// KueueExcludes reports whether the configuration of Kueue lists the kinds that it manages, without one of them. It is
// false if the configuration has another name than in Kueue's manifests and Helm chart, or cannot be read.
func KueueExcludes(ctx context.Context, c *kube.Cluster, of schema.GroupKind) bool {
	configMap := kube.Ref{Kind: kind.ConfigMap(), Namespace: "kueue-system", Name: "kueue-manager-config"}
	configured, err := kube.Recall(c.API, "configuration of Kueue", func() (ready.KueueConfig, error) {
		found, err := c.API.Get(ctx, configMap)
		if class := kube.ClassOf(err); class == kube.Denied || class == kube.NotFound {
			return ready.KueueConfig{}, nil
		}
		if err != nil {
			return ready.KueueConfig{}, err
		}
		text, _, _ := unstructured.NestedString(found.Object, "data", "controller_manager_config.yaml")
		return ready.ParseKueueConfig(text), nil
	})
	return err == nil && configured.Excludes(of)
}

// groupOf returns the API group of a scheduler with queues.
func groupOf(scheduler string) string {
	if scheduler == kind.QueueSchedulerKAI {
		return kind.KAIGroup
	}
	return kind.KueueGroup
}

// holdsAny returns whether a Workload of Kueue belongs to one of these pods or of the objects with these UIDs, by its
// owners or its label. The UIDs of owners are searched in its JSON without decoding, because there may be thousands of
// Workloads.
func holdsAny(pods []*corev1.Pod, uids ...types.UID) func(*kube.Entry) bool {
	uids = append(uids, kind.Each(pods, (*corev1.Pod).GetUID)...)
	return func(e *kube.Entry) bool {
		return slices.ContainsFunc(uids, func(uid types.UID) bool {
			return uid != "" && (e.Labels[kind.KueueJobUIDLabel] == string(uid) || e.Mentions(`"`+string(uid)+`"`))
		})
	}
}

// QueueForecast returns the cause that will keep a compute waiting in its
// queue, as far as it can be determined before creation, or nil: a missing
// scheduler or queue, an inactive queue, or requests above what it can ever admit.
// scheduler is [kind.QueueSchedulerKueue] (also "") or [kind.QueueSchedulerKAI].
// workload is the name for messages. Each queue is read once per run. Objects
// without read permission are ignored. An error means that the request failed.
func QueueForecast(
	ctx context.Context, c *kube.Cluster, scheduler, namespace, queue string, demand ready.Demand, workload string,
) (*ready.Cause, error) {
	scheduler = cmp.Or(scheduler, kind.QueueSchedulerKueue)
	q, err := kube.Recall(c.API, "queue "+scheduler+" "+namespace+"/"+queue, func() (*ready.Queue, error) {
		q, err := queueNamed(ctx, c, scheduler, namespace, queue)
		if class := kube.ClassOf(err); class == kube.Denied || class == kube.Refused {
			return nil, nil // the queue is unknown for this run
		}
		return q, err
	})
	if err != nil {
		return nil, err
	}
	return ready.Forecast(q, demand, workload), nil
}

// queueNamed reads a queue by name, and lists the others only if it is missing.
func queueNamed(ctx context.Context, c *kube.Cluster, scheduler, namespace, name string) (*ready.Queue, error) {
	q := &ready.Queue{Scheduler: scheduler, Namespace: namespace, Name: name}
	group := groupOf(scheduler)
	version, err := c.Discovery.Preferred(ctx, group)
	if err != nil {
		of := kube.Kind{GroupVersionKind: schema.GroupVersionKind{Group: group}}
		return nil, kube.Wrap("look up", kube.Ref{Kind: of}, err)
	}
	if version == "" {
		q.NotInstalled = true
		return q, nil
	}
	ref := kube.Ref{Kind: kind.LocalQueue(version), Namespace: namespace, Name: name}
	if scheduler == kind.QueueSchedulerKAI {
		ref = kube.Ref{Kind: kind.KAIQueue(), Name: name}
	}
	found, err := c.API.Get(ctx, ref)
	switch {
	case kube.IsNotFound(err):
		ref.Name, q.Queues = "", []*unstructured.Unstructured{}
		for queue, err := range c.API.List(ctx, ref, "") {
			if err != nil {
				return q, err
			}
			q.Queues = append(q.Queues, queue)
		}
		return q, nil
	case err != nil:
		return nil, err
	}
	q.Queues = []*unstructured.Unstructured{found}
	if clusterQueue := q.ClusterQueueOf(); clusterQueue != "" {
		q.ClusterQueue, err = c.API.Get(ctx, kube.Ref{Kind: kind.ClusterQueue(version), Name: clusterQueue})
		if class := kube.ClassOf(err); class == kube.Denied || class == kube.NotFound {
			err = nil // a condition of the LocalQueue reports that it is missing
		}
	}
	return q, err
}

// WaitClusterQueue waits until Kueue admits workloads to a ClusterQueue. If ctx
// ends before, it returns a *NotReadyError.
func WaitClusterQueue(ctx context.Context, c *kube.Cluster, ref kube.Ref) error {
	_, err := waitFor(ctx, c, ref, c.Store.Watches, ready.Verdict.Settled, func() (ready.Verdict, []Interest, error) {
		live, err := c.Store.Get(ctx, ref)
		if err != nil {
			return ready.Verdict{}, nil, err
		}
		return ready.AssessClusterQueue(live).Verdict, []Interest{named(ref)}, nil
	})
	return err
}

// WaitKAIChildren waits while the status of a Queue of KAI names child queues
// of which none exists any more, or only such that this run deletes: KAI updates
// it after their deletion, and refuses to delete the Queue until then. It does
// not wait for other child queues.
func WaitKAIChildren(ctx context.Context, c *kube.Cluster, ref kube.Ref) error {
	watch := &Objects{Changes: c.Store, Of: AllOf(ref.Kind)}
	_, err := Until(ctx, c.Clock(), watch, func() (Step[bool], error) {
		queue, err := c.Store.Get(ctx, ref)
		if kube.IsNotFound(err) {
			return Step[bool]{Done: true}, nil
		}
		if err != nil {
			return Step[bool]{}, err
		}
		existing, err := c.Store.List(ctx, ref.Kind, "", func(e *kube.Entry) bool { // the watch may lag
			return c.DeletionOf(kube.Ref{Kind: ref.Kind, Name: e.Name}) != e.UID
		})
		return Step[bool]{Done: !ready.NamesDeletedChildren(queue, func(child string) bool {
			return slices.ContainsFunc(existing, func(e *kube.Entry) bool { return e.Name == child })
		})}, err
	})
	return err
}
