package ready

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// The relevant fields of the objects of KAI (pkg/apis/scheduling/{v2,v2alpha2}
// in github.com/kai-scheduler/KAI-Scheduler). A Queue counts GPUs, thousandths
// of a CPU, and megabytes of memory; -1 means no limit.
type (
	kaiQueueObject struct {
		Spec struct {
			Resources struct {
				GPU    kaiResource `json:"gpu"`
				CPU    kaiResource `json:"cpu"`
				Memory kaiResource `json:"memory"`
			} `json:"resources"`
		} `json:"spec"`
		Status struct {
			ChildQueues []string           `json:"childQueues"`
			Allocated   resourceQuantities `json:"allocated"`
			Requested   resourceQuantities `json:"requested"`
		} `json:"status"`
	}

	resourceQuantities = map[string]resource.Quantity

	kaiResource struct {
		Limit float64 `json:"limit"`
	}

	kaiPodGroup struct {
		Metadata metadata `json:"metadata"`
		Status   struct {
			SchedulingConditions []struct {
				condition `json:",inline"`
				Reasons   []condition `json:"reasons"`
			} `json:"schedulingConditions"`
		} `json:"status"`
	}
)

// PodGroupOf returns the name of the KAI PodGroup of a pod, or "" if it has
// none yet.
func PodGroupOf(p *corev1.Pod) string { return p.Annotations["pod-group-name"] }

// kai returns the cause with the reasons why KAI does not schedule a workload, or
// nil if only the pod shows them.
func (q *Queue) kai(c *Cause, workload string) *Cause {
	if q.problem(c, workload) {
		return c
	}
	for _, group := range decodedByName[kaiPodGroup](q.Holds) {
		for _, latest := range slices.Backward(group.Status.SchedulingConditions) {
			if latest.Type != "UnschedulableOnNodePool" || !latest.isTrue() {
				continue
			}
			reasons := latest.Reasons
			if len(reasons) == 0 {
				reasons = []condition{latest.condition}
			}
			messages := kind.Each(reasons, func(r condition) string { return strings.TrimSuffix(clip(r.Message), ".") })
			c.Summary = fmt.Sprintf("KAI cannot schedule %s now (queue %s): %s.", workload, q.Name, Listed(messages, 3))
			c.Command = describe(kind.KAIPodGroup().GroupVersionKind, q.Namespace, group.Metadata.Name)
			return c
		}
	}
	return nil
}

// KAIUsage returns the resources that the workloads of a Queue of KAI and of its
// child queues have, as "allocated", and request, as "requested".
func KAIUsage(live *unstructured.Unstructured) map[string]map[string]resource.Quantity {
	queue := decoded[kaiQueueObject](live)
	if queue == nil {
		return nil
	}
	usage := map[string]resourceQuantities{"allocated": queue.Status.Allocated, "requested": queue.Status.Requested}
	maps.DeleteFunc(usage, func(_ string, quantities resourceQuantities) bool { return len(quantities) == 0 })
	return usage
}

// NamesDeletedChildren reports whether the status of a Queue of KAI names child
// queues, of which none exists.
func NamesDeletedChildren(live *unstructured.Unstructured, exists func(queue string) bool) bool {
	queue := decoded[kaiQueueObject](live)
	return queue != nil && len(queue.Status.ChildQueues) > 0 && !slices.ContainsFunc(queue.Status.ChildQueues, exists)
}

// kaiForecast reports requests above the limits of the queue.
func (q *Queue) kaiForecast(c *Cause, demand Demand) *Cause {
	queue := decoded[kaiQueueObject](q.object())
	if queue == nil {
		return nil
	}
	limits := queue.Spec.Resources
	var never []string
	for _, r := range []struct {
		name  corev1.ResourceName
		limit float64
		unit  float64 // in the unit of the resource
	}{
		{kind.GPUResource, limits.GPU.Limit, 1},
		{corev1.ResourceCPU, limits.CPU.Limit, 1e-3},
		{corev1.ResourceMemory, limits.Memory.Limit, 1e6},
	} {
		want, asked := demand.Requests[r.name]
		limit := resource.NewMilliQuantity(int64(r.limit*r.unit*1000), resource.DecimalSI)
		if asked && r.limit > 0 && want.Cmp(*limit) > 0 {
			never = append(never, fmt.Sprintf("%s requested, and its limit is %s", amountOf(r.name, demand.Requests),
				amount(r.name, *limit)))
		}
	}
	if len(never) == 0 {
		return nil
	}
	c.Reason = ReasonQueueShort
	c.Summary = fmt.Sprintf("Queue %s cannot run this compute: %s.", q.Name, strings.Join(never, ", "))
	c.Hint = advice.Of("Request less, use another queue, or request a higher limit from the owner of the queue.")
	c.Command = describe(kind.KAIQueue().GroupVersionKind, "", q.Name)
	return c
}
