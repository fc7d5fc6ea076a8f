package ready

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// The relevant fields of the objects of Kueue, which are the same in v1beta1
// and v1beta2 except for the name of the cohort (apis/kueue in
// sigs.k8s.io/kueue).
type (
	kueueWorkload struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			Active  *bool `json:"active"`
			PodSets []struct {
				Count    int64                  `json:"count"`
				Template corev1.PodTemplateSpec `json:"template"`
			} `json:"podSets"`
		} `json:"spec"`
		Status struct {
			Conditions conditions `json:"conditions"`
			Admission  struct {
				ClusterQueue      string `json:"clusterQueue"`
				PodSetAssignments []struct {
					ResourceUsage corev1.ResourceList `json:"resourceUsage"`
				} `json:"podSetAssignments"`
			} `json:"admission"`
			AdmissionChecks []struct {
				Name    string `json:"name"`
				State   string `json:"state"`
				Message string `json:"message"`
			} `json:"admissionChecks"`
		} `json:"status"`
	}

	clusterQueue struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			Cohort     string `json:"cohort"`
			CohortName string `json:"cohortName"`
			Preemption *struct {
				ReclaimWithinCohort string `json:"reclaimWithinCohort"`
				WithinClusterQueue  string `json:"withinClusterQueue"`
			} `json:"preemption"`
			ResourceGroups []struct {
				Flavors []struct {
					Resources []struct {
						Name           corev1.ResourceName `json:"name"`
						NominalQuota   resource.Quantity   `json:"nominalQuota"`
						BorrowingLimit *resource.Quantity  `json:"borrowingLimit"`
					} `json:"resources"`
				} `json:"flavors"`
			} `json:"resourceGroups"`
		} `json:"spec"`
		Status struct {
			Conditions         conditions `json:"conditions"`
			PendingWorkloads   int64      `json:"pendingWorkloads"`
			ReservingWorkloads int64      `json:"reservingWorkloads"`
			AdmittedWorkloads  int64      `json:"admittedWorkloads"`
			FlavorsReservation []struct {
				Name      string `json:"name"`
				Resources []struct {
					Name  corev1.ResourceName `json:"name"`
					Total resource.Quantity   `json:"total"`
				} `json:"resources"`
			} `json:"flavorsReservation"`
		} `json:"status"`
	}
)

// ClusterQueueOf returns the name of the ClusterQueue of a queue, or "" if it
// is unknown.
func (q *Queue) ClusterQueueOf() string {
	if queue := q.object(); queue != nil {
		return kind.TextAt(queue.Object, "spec", "clusterQueue")
	}
	return ""
}

// kueue sets the reasons why Kueue does not admit a workload. Quota may become
// available, and a stopped queue may be resumed: only a missing queue ends a
// wait.
func (q *Queue) kueue(c *Cause, workload string) *Cause {
	if q.problem(c, workload) || q.inactive(c) {
		return c
	}
	c.Summary = fmt.Sprintf("Kueue has not admitted %s yet (queue %s)", workload, q.Name)
	c.Hint = advice.Of(seeWorkload)
	c.Command = listKueueWorkloads(q.Namespace)
	waiting := q.waiting()
	if len(waiting) > 0 {
		first, why, hint := explained(waiting)
		c.Command, c.Hint = describe(kind.KueueWorkload("").GroupVersionKind, q.Namespace, first.Metadata.Name), hint
		if why != "" {
			c.Summary += ": " + strings.TrimSuffix(why, ".")
		}
	}
	c.Summary += "."
	short, never := q.shortage(waiting)
	switch {
	case never:
		c.Summary += " " + short + " The queue can never admit all of it."
		c.Hint = advice.Of("Reduce %s, use another queue, or request a higher quota.", advice.Requests)
	case short != "":
		c.Summary += " " + short
		c.Hint = advice.Of("Wait until other workloads in the queue finish, reduce %s, or request a higher quota.",
			advice.Requests)
	case q.Holds != nil && len(q.Holds) == 0:
		c.Summary += " Kueue has no Workload for it: it has not seen it yet, or does not manage its kind."
		c.Hint = advice.Of("Check that Kueue runs, and that its configuration includes the kind.")
	case len(waiting) == 0:
		c.Summary += " " + startsWithQuota
	}
	return c
}

// listKueueWorkloads returns the command that lists the Workloads of a namespace.
func listKueueWorkloads(namespace string) string {
	return Kubectl(namespace, "get", kind.KueueWorkload("").Argument(), "-o", "wide")
}

// inactive reports whether the LocalQueue or its ClusterQueue currently admits
// no workloads.
func (q *Queue) inactive(c *Cause) bool {
	command := describe(kind.LocalQueue("").GroupVersionKind, q.Namespace, q.Name)
	object, why := "LocalQueue "+q.Name, conditionsOf(q.object()).of("Active")
	if active := conditionsOf(q.ClusterQueue).of("Active"); active.isFalse() {
		name := q.ClusterQueue.GetName()
		object, why = "ClusterQueue "+name, active
		command = describe(kind.ClusterQueue("").GroupVersionKind, "", name)
	}
	if !why.isFalse() {
		return false
	}
	c.Reason, c.Command = ReasonQueueInactive, command
	c.Summary = fmt.Sprintf("%s currently admits no workloads%s. The workload starts when the queue is active again.",
		object, why.suffix())
	c.Hint = advice.Of("Contact the administrator of the queue, or set %s to another queue.", advice.Queue)
	return true
}

// Reserved returns the quota of a ClusterQueue that Workloads of Kueue use, or that of all if it is "".
func Reserved(workloads []*unstructured.Unstructured, clusterQueue string) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for _, w := range decodedByName[kueueWorkload](workloads) {
		in := w.Status.Admission.ClusterQueue
		for _, set := range w.Status.Admission.PodSetAssignments {
			if cmp.Or(clusterQueue, in) == in && !w.Status.Conditions.of("Finished").isTrue() {
				kind.AddRequests(sum, set.ResourceUsage, 1)
			}
		}
	}
	return sum
}

// waiting returns the Workloads that are not admitted, sorted by name.
func (q *Queue) waiting() []*kueueWorkload {
	return filter(decodedByName[kueueWorkload](q.Holds), func(w *kueueWorkload) bool {
		return !w.Status.Conditions.firstTrue("Finished", "Admitted").isTrue()
	})
}

// explained returns the first Workload with a reason, or the first one, of at
// least one Workload. With SchedulingEquivalenceHashing (enabled since Kueue
// 0.18), Kueue evaluates only one of several equal Workloads, such as those of
// the pods of a Deployment, and may report no reason for the others.
func explained(waiting []*kueueWorkload) (first *kueueWorkload, why string, hint advice.Text) {
	for _, first = range waiting {
		if why, hint = first.why(); why != "" {
			return first, why, hint
		}
	}
	return waiting[0], "", hint
}

// why returns the reason that Kueue reports for a waiting Workload, and the
// next step.
func (w *kueueWorkload) why() (text string, hint advice.Text) {
	hint = advice.Of(seeWorkload)
	quota, evicted := w.Status.Conditions.of("QuotaReserved"), w.Status.Conditions.of("Evicted")
	switch {
	case w.Spec.Active != nil && !*w.Spec.Active:
		return "its Workload is deactivated" + cmp.Or(evicted.suffix(),
				w.Status.Conditions.of("DeactivationTarget").suffix()),
			advice.Of("Set spec.active of the Workload to true when the reason no longer applies.")
	case quota.isTrue():
		var checks []string
		for _, check := range w.Status.AdmissionChecks {
			if check.State != "Ready" {
				checks = append(checks, strings.TrimSuffix(fmt.Sprintf("%s is %s: %s", check.Name, check.State,
					clip(check.Message)), ": "))
			}
		}
		if len(checks) == 0 {
			return "its quota is reserved", hint
		}
		return "its quota is reserved, but admission checks are pending: " + Listed(checks, 3),
			advice.Of("Contact the administrator of the controllers of the admission checks.")
	case evicted.isTrue():
		text = "it was evicted" + evicted.suffix()
		if quota.Message != "" {
			text += "; since then: " + clip(quota.Message)
		}
		return text + "; it restarts when the queue has enough quota", hint
	}
	return clip(quota.Message), hint
}

// shortage compares the requests of Workloads with the quota of their
// ClusterQueue, and reports whether they exceed what it can ever admit.
func (q *Queue) shortage(waiting []*kueueWorkload) (text string, never bool) {
	cq := decoded[clusterQueue](q.ClusterQueue)
	if cq == nil {
		return "", false
	}
	need := corev1.ResourceList{}
	for _, w := range waiting {
		for _, set := range w.Spec.PodSets {
			one := resourcehelper.PodRequests(&corev1.Pod{Spec: set.Template.Spec},
				resourcehelper.PodResourcesOptions{})
			kind.AddRequests(need, one, set.Count)
		}
	}
	var parts []string
	for _, e := range cq.excesses(need, nil) {
		if e.covered {
			parts, never = append(parts, e.text(cq.Metadata.Name)), never || e.most != ""
		}
	}
	if len(parts) == 0 {
		return "", false
	}
	text = "Of its quota: " + Listed(parts, 4)
	if cohort := cq.cohort(); cohort != "" {
		text += fmt.Sprintf(" (it may borrow from cohort %s)", cohort)
	}
	return text + ".", never
}

// excess is a request that exceeds the free quota of a ClusterQueue.
type excess struct {
	name             corev1.ResourceName
	want, have, used string
	covered          bool   // whether there is a quota
	most             string // the maximum that it can ever admit if that is less, otherwise ""
}

func (e excess) text(queue string) string {
	return fmt.Sprintf("%s requested, %s has %s, %s in use", e.want, queue, e.have, e.used)
}

// excesses returns the requests that exceed the free quota, sorted by resource. own is the quota in use that becomes
// free for them.
func (cq *clusterQueue) excesses(requests, own corev1.ResourceList) []excess {
	nominal, most, used := cq.quotas()
	kind.AddRequests(used, own, -1)
	maps.DeleteFunc(used, func(_ corev1.ResourceName, n resource.Quantity) bool { return n.Sign() < 0 }) // given back
	var out []excess
	for _, name := range resourceNames(requests) {
		want, free := requests[name], nominal[name].DeepCopy()
		free.Sub(used[name])
		if want.Sign() <= 0 || want.Cmp(free) <= 0 {
			continue
		}
		e := excess{name: name, want: amountOf(name, requests), have: amount(name, nominal[name]),
			used: amount(name, used[name])}
		_, e.covered = nominal[name]
		if ceiling, bounded := most[name]; bounded && want.Cmp(ceiling) > 0 {
			e.most = amount(name, ceiling)
		}
		out = append(out, e)
	}
	return out
}

// sharing returns how the queue may get quota beyond its unused one without the end of a workload. Whether it does
// depends on the other queues of the cohort and on the priorities of workloads.
func (cq *clusterQueue) sharing() []string {
	var ways []string
	if cohort := cq.cohort(); cohort != "" {
		ways = append(ways, fmt.Sprintf("cohort %s lends the rest", cohort))
	}
	const never = "Never"
	if p := cq.Spec.Preemption; p != nil && (cmp.Or(p.WithinClusterQueue, never) != never ||
		cq.cohort() != "" && cmp.Or(p.ReclaimWithinCohort, never) != never) {
		ways = append(ways, "Kueue preempts other workloads")
	}
	return ways
}

func (cq *clusterQueue) cohort() string { return cmp.Or(cq.Spec.CohortName, cq.Spec.Cohort) }

// quotas sums all flavors: the nominal quota, the maximum that the queue can
// ever use (without an entry if it is unbounded), and the usage.
func (cq *clusterQueue) quotas() (nominal, most, used corev1.ResourceList) {
	nominal, most, used = corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	var unbounded []corev1.ResourceName
	for _, group := range cq.Spec.ResourceGroups {
		for _, flavor := range group.Flavors {
			for _, r := range flavor.Resources {
				kind.AddRequests(nominal, corev1.ResourceList{r.Name: r.NominalQuota}, 1)
				kind.AddRequests(most, corev1.ResourceList{r.Name: r.NominalQuota}, 1)
				switch {
				case cq.cohort() == "":
				case r.BorrowingLimit == nil:
					unbounded = append(unbounded, r.Name)
				default:
					kind.AddRequests(most, corev1.ResourceList{r.Name: *r.BorrowingLimit}, 1)
				}
			}
		}
	}
	for _, name := range unbounded {
		delete(most, name)
	}
	for _, flavor := range cq.Status.FlavorsReservation {
		for _, r := range flavor.Resources {
			kind.AddRequests(used, corev1.ResourceList{r.Name: r.Total}, 1)
		}
	}
	return nominal, most, used
}

// kueueForecast reports an inactive queue, and requests above what the
// ClusterQueue can ever admit. A resource without any quota also prevents
// admission.
func (q *Queue) kueueForecast(c *Cause, demand Demand) *Cause {
	if q.inactive(c) {
		return c
	}
	cq := decoded[clusterQueue](q.ClusterQueue)
	if cq == nil || len(cq.Spec.ResourceGroups) == 0 {
		return nil
	}
	requests := demand.Requests.DeepCopy()
	nominal, _, _ := cq.quotas()
	if _, counted := nominal[corev1.ResourcePods]; counted {
		requests[corev1.ResourcePods] = *resource.NewQuantity(int64(demand.Pods), resource.DecimalSI)
	}
	var never, later []string
	for _, e := range cq.excesses(requests, Reserved(demand.Own, cq.Metadata.Name)) {
		switch {
		case !e.covered:
			never = append(never, fmt.Sprintf("it has no quota for %s", e.name))
		case e.most != "":
			never = append(never, fmt.Sprintf("%s requested, and it can never admit more than %s", e.want, e.most))
		default:
			later = append(later, e.text("it"))
		}
	}
	queue := fmt.Sprintf("ClusterQueue %s of queue %s", cq.Metadata.Name, q.Name)
	c.Command = describe(kind.ClusterQueue("").GroupVersionKind, "", cq.Metadata.Name)
	switch ways := cq.sharing(); {
	case len(never) > 0:
		c.Reason = ReasonQueueShort
		c.Summary = fmt.Sprintf("%s cannot admit this compute: %s.", queue, Listed(never, 4))
		c.Hint = advice.Of("Request less, use another queue, or request quota for what is missing.")
	case len(later) == 0:
		return nil
	case len(ways) > 0:
		c.Reason = ReasonQueueShared
		c.Summary = fmt.Sprintf("%s has not enough unused quota for the requests of this compute: %s. It waits in "+
			"the queue until %s, or other workloads finish.", queue, Listed(later, 4), strings.Join(ways, ", "))
	default:
		c.Reason = ReasonQueued
		c.Summary = fmt.Sprintf("%s cannot admit the requests of this compute now: %s. It waits in the queue until "+
			"other workloads finish.", queue, Listed(later, 4))
	}
	return c
}
