package kube

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// queueOf gathers what is known of the queue that holds a workload, and says
// changes of which kinds may matter to it. Of a workload that no queue holds now
// nothing is asked. What may not be read is left out.
func (c *Cluster) queueOf(ctx context.Context, workload *unstructured.Unstructured, pods []*corev1.Pod) (*ready.Queue,
	[]Kind) {
	if !isSuspended(workload) && !slices.ContainsFunc(pods, waitsInQueue) {
		return nil, nil
	}
	q := &ready.Queue{Namespace: workload.GetNamespace()}
	if q.Scheduler, q.Name = ready.QueueOf(workload, pods); q.Name == "" {
		return nil, nil
	}
	if q.Scheduler == ready.KAI {
		version, err := c.preferred(ctx, kind.KAIGroup)
		if q.NotInstalled = err == nil && version == ""; version == "" {
			return q, nil
		}
		q.Queues = c.objects(ctx, kind.KAIQueue(), "", func(*entry) bool { return true })
		q.Holds = c.objects(ctx, kind.KAIPodGroup(), q.Namespace, func(e *entry) bool {
			return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return ready.PodGroupOf(pod) == e.Name })
		})
		return q, []Kind{kind.KAIQueue(), kind.KAIPodGroup()}
	}
	version, err := c.preferred(ctx, kind.KueueGroup)
	if q.NotInstalled = err == nil && version == ""; version == "" {
		return q, nil
	}
	localQueues, workloads := kind.LocalQueue(version), kind.KueueWorkload(version)
	q.Queues = c.objects(ctx, localQueues, q.Namespace, func(*entry) bool { return true })
	q.Holds = c.objects(ctx, workloads, q.Namespace, func(e *entry) bool { return holds(e, workload, pods) })
	if name := q.ClusterQueueOf(); name != "" {
		for _, found := range c.objects(ctx, kind.ClusterQueue(version), "", func(e *entry) bool { return e.Name == name }) {
			q.ClusterQueue = found
		}
	}
	return q, []Kind{localQueues, workloads}
}

// isSuspended says whether a queue may have suspended a workload, or not let it
// start.
func isSuspended(workload *unstructured.Unstructured) bool {
	for _, path := range kind.SuspendFields() {
		if suspended, _, _ := unstructured.NestedBool(workload.Object, path...); suspended {
			return true
		}
	}
	return false
}

func waitsInQueue(pod *corev1.Pod) bool {
	scheduler, _ := ready.QueueOf(&unstructured.Unstructured{}, []*corev1.Pod{pod})
	return pod.Spec.NodeName == "" && (scheduler == ready.KAI || len(pod.Spec.SchedulingGates) > 0)
}

// holds says whether a Workload of Kueue's is of this workload, or of one of its
// pods, as its owners or its label say. The UIDs of owners stand in its JSON,
// which is searched without decoding: there may be thousands.
func holds(e *entry, workload *unstructured.Unstructured, pods []*corev1.Pod) bool {
	uids := []types.UID{workload.GetUID()}
	for _, pod := range pods {
		uids = append(uids, pod.UID)
	}
	return slices.ContainsFunc(uids, func(uid types.UID) bool {
		return uid != "" && (e.Labels[kind.KueueJobUIDLabel] == string(uid) || bytes.Contains(e.json, []byte(`"`+uid+`"`)))
	})
}

// QueueOutlook says what will keep a compute waiting in its queue, as far as it
// can be seen before the compute exists: a scheduler or queue that is not there,
// one that admits nothing, and more asked for than it can ever admit. scheduler
// is [ready.Kueue] (also "") or [ready.KAI]; workload names the compute in
// messages. Each queue is asked for once a run. What may not be read is passed
// over in silence; an error means that the cluster could not be asked.
func (c *Cluster) QueueOutlook(ctx context.Context, scheduler, namespace, queue string, ask ready.Ask,
	workload string) ([]*ready.Cause, error) {
	scheduler = cmp.Or(scheduler, ready.Kueue)
	q, err := recall(c, "queue "+scheduler+" "+namespace+"/"+queue, func() (*ready.Queue, error) {
		q, err := c.queueNamed(ctx, scheduler, namespace, queue)
		if class := ClassOf(err); class == Denied || class == Refused {
			return nil, nil //nolint:nilnil // nothing is known of the queue, and will not be in this run
		}
		return q, err
	})
	if err != nil {
		return nil, err
	}
	return ready.Outlook(q, ask, workload), nil
}

// queueNamed gets a queue by name, and lists the others only where it is missing.
func (c *Cluster) queueNamed(ctx context.Context, scheduler, namespace, name string) (*ready.Queue, error) {
	q := &ready.Queue{Scheduler: scheduler, Namespace: namespace, Name: name}
	group := map[string]string{ready.Kueue: kind.KueueGroup, ready.KAI: kind.KAIGroup}[scheduler]
	version, err := c.preferred(ctx, group)
	if err != nil {
		return nil, wrap("look up", Ref{Kind: Kind{GroupVersionKind: schema.GroupVersionKind{Group: group}}}, err)
	}
	if version == "" {
		q.NotInstalled = true
		return q, nil
	}
	ref := Ref{Kind: kind.LocalQueue(version), Namespace: namespace, Name: name}
	if scheduler == ready.KAI {
		ref = Ref{Kind: kind.KAIQueue(), Name: name}
	}
	found, err := c.Get(ctx, ref)
	switch {
	case IsNotFound(err):
		q.Queues, err = c.list(ctx, ref)
		return q, err
	case err != nil:
		return nil, err
	}
	q.Queues = []*unstructured.Unstructured{found}
	if clusterQueue := q.ClusterQueueOf(); clusterQueue != "" {
		q.ClusterQueue, err = c.Get(ctx, Ref{Kind: kind.ClusterQueue(version), Name: clusterQueue})
		if class := ClassOf(err); class == Denied || class == NotFound {
			err = nil // the LocalQueue's own condition says that it is missing
		}
	}
	return q, err
}
