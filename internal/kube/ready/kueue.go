package ready

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

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
			Conditions      []condition `json:"conditions"`
			AdmissionChecks []struct {
				Name    string `json:"name"`
				State   string `json:"state"`
				Message string `json:"message"`
			} `json:"admissionChecks"`
		} `json:"status"`
	}

	localQueue struct {
		Spec struct {
			ClusterQueue string `json:"clusterQueue"`
		} `json:"spec"`
		Status struct {
			Conditions []condition `json:"conditions"`
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
			Conditions         []condition `json:"conditions"`
			PendingWorkloads   int64       `json:"pendingWorkloads"`
			ReservingWorkloads int64       `json:"reservingWorkloads"`
			AdmittedWorkloads  int64       `json:"admittedWorkloads"`
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
	if lq := decoded[localQueue](q.object()); lq != nil {
		return lq.Spec.ClusterQueue
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
	c.Hint = seeWorkload
	c.Command = listKueueWorkloads(q.Namespace)
	waiting := q.waiting()
	if len(waiting) > 0 {
		first, why, hint := explained(waiting)
		c.Command = describe(kind.KueueWorkload("").GroupVersionKind, q.Namespace, first.Metadata.Name)
		if why != "" {
			c.Summary += ": " + strings.TrimSuffix(why, ".")
		}
		c.Hint = cmp.Or(hint, c.Hint)
	}
	c.Summary += "."
	short, never := q.shortage(waiting)
	switch {
	case never:
		c.Summary += " " + short + " The queue can never admit all of it."
		c.Hint = "Reduce " + FieldRequests + ", use another queue, or request a higher quota."
	case short != "":
		c.Summary += " " + short
		c.Hint = "Wait until other workloads in the queue finish, reduce " + FieldRequests +
			", or request a higher quota."
	case q.Holds != nil && len(q.Holds) == 0:
		c.Summary += " Kueue has no Workload for it: it has not seen it yet, or does not manage its kind."
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
	object, why := "LocalQueue "+q.Name, condition{}
	if lq := decoded[localQueue](q.object()); lq != nil {
		why = conditionOf(lq.Status.Conditions, "Active")
	}
	if cq := decoded[clusterQueue](q.ClusterQueue); cq != nil {
		if active := conditionOf(cq.Status.Conditions, "Active"); active.isFalse() {
			object, why = "ClusterQueue "+cq.Metadata.Name, active
			command = describe(kind.ClusterQueue("").GroupVersionKind, "", cq.Metadata.Name)
		}
	}
	if !why.isFalse() {
		return false
	}
	c.Reason, c.Command = ReasonQueueInactive, command
	c.Summary = fmt.Sprintf("%s currently admits no workloads%s. The workload starts when the queue is active again.",
		object, why.suffix())
	c.Hint = "Contact the administrator of the queue, or set " + FieldQueue + " to another queue."
	return true
}

// waiting returns the Workloads that are not admitted, sorted by name.
func (q *Queue) waiting() []*kueueWorkload {
	var out []*kueueWorkload
	for _, u := range q.Holds {
		w := decoded[kueueWorkload](u)
		if w == nil || conditionOf(w.Status.Conditions, "Finished").isTrue() ||
			conditionOf(w.Status.Conditions, "Admitted").isTrue() {
			continue
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b *kueueWorkload) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	return out
}

// explained returns the first Workload with a reason, or the first one, of at
// least one Workload. With SchedulingEquivalenceHashing (enabled since Kueue
// 0.18), Kueue evaluates only one of several equal Workloads, such as those of
// the pods of a Deployment, and may report no reason for the others.
func explained(waiting []*kueueWorkload) (first *kueueWorkload, why string, hint Advice) {
	for _, first = range waiting {
		if why, hint = first.why(); why != "" {
			return first, why, hint
		}
	}
	return waiting[0], "", ""
}

// why returns the reason that Kueue reports for a waiting Workload, and the
// next step if the reason requires a specific one.
func (w *kueueWorkload) why() (text string, hint Advice) {
	quota := conditionOf(w.Status.Conditions, "QuotaReserved")
	evicted := conditionOf(w.Status.Conditions, "Evicted")
	switch {
	case w.Spec.Active != nil && !*w.Spec.Active:
		return "its Workload is deactivated" + cmp.Or(evicted.suffix(),
				conditionOf(w.Status.Conditions, "DeactivationTarget").suffix()),
			"Set spec.active of the Workload to true when the reason no longer applies."
	case quota.isTrue():
		var checks []string
		for _, check := range w.Status.AdmissionChecks {
			if check.State != "Ready" {
				checks = append(checks, strings.TrimSuffix(fmt.Sprintf("%s is %s: %s", check.Name, check.State,
					clip(check.Message)), ": "))
			}
		}
		if len(checks) == 0 {
			return "its quota is reserved", ""
		}
		return "its quota is reserved, but admission checks are pending: " + Listed(checks, 3),
			"Contact the administrator of the controllers of the admission checks."
	case evicted.isTrue():
		text = "it was evicted" + evicted.suffix()
		if quota.Message != "" {
			text += "; since then: " + clip(quota.Message)
		}
		return text + "; it restarts when the queue has enough quota", ""
	}
	return clip(quota.Message), ""
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
			add(need, one, set.Count)
		}
	}
	nominal, most, used := cq.quotas()
	var parts []string
	for _, name := range resourceNames(need) {
		have, covered := nominal[name]
		free := have.DeepCopy()
		free.Sub(used[name])
		want := need[name]
		if ceiling, bounded := most[name]; bounded && want.Cmp(ceiling) > 0 {
			never = true
		}
		if covered && want.Cmp(free) > 0 {
			inUse := used[name]
			parts = append(parts, fmt.Sprintf("%s requested, %s has %s, %s in use", amountOf(name, need),
				cq.Metadata.Name, amount(name, have), amount(name, inUse)))
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
				add(nominal, corev1.ResourceList{r.Name: r.NominalQuota}, 1)
				add(most, corev1.ResourceList{r.Name: r.NominalQuota}, 1)
				switch {
				case cq.cohort() == "":
				case r.BorrowingLimit == nil:
					unbounded = append(unbounded, r.Name)
				default:
					add(most, corev1.ResourceList{r.Name: *r.BorrowingLimit}, 1)
				}
			}
		}
	}
	for _, name := range unbounded {
		delete(most, name)
	}
	for _, flavor := range cq.Status.FlavorsReservation {
		for _, r := range flavor.Resources {
			add(used, corev1.ResourceList{r.Name: r.Total}, 1)
		}
	}
	return nominal, most, used
}

// add adds n times the quantities in more to sum.
func add(sum, more corev1.ResourceList, n int64) {
	for name, q := range more {
		q.Mul(n)
		total := sum[name]
		total.Add(q)
		sum[name] = total
	}
}

// kueueForecast reports an inactive queue, and requests above what the
// ClusterQueue can ever admit. A resource without any quota also prevents
// admission.
func (q *Queue) kueueForecast(c *Cause, demand Demand) []*Cause {
	if q.inactive(c) {
		return []*Cause{c}
	}
	cq := decoded[clusterQueue](q.ClusterQueue)
	if cq == nil || len(cq.Spec.ResourceGroups) == 0 {
		return nil
	}
	nominal, most, used := cq.quotas()
	requests := demand.Requests.DeepCopy()
	if _, counted := nominal[corev1.ResourcePods]; counted {
		requests[corev1.ResourcePods] = *resource.NewQuantity(int64(demand.Pods), resource.DecimalSI)
	}
	var never, later []string
	for _, name := range resourceNames(requests) {
		want := requests[name]
		have, covered := nominal[name]
		ceiling, bounded := most[name]
		free := have.DeepCopy()
		free.Sub(used[name])
		switch {
		case want.Sign() <= 0:
		case !covered:
			never = append(never, fmt.Sprintf("it has no quota for %s", name))
		case bounded && want.Cmp(ceiling) > 0:
			never = append(never, fmt.Sprintf("%s requested, and it can never admit more than %s",
				amountOf(name, requests), amount(name, ceiling)))
		case want.Cmp(free) > 0:
			inUse := used[name]
			later = append(later, fmt.Sprintf("%s requested, it has %s, %s in use", amountOf(name, requests),
				amount(name, have), amount(name, inUse)))
		}
	}
	c.Command = describe(kind.ClusterQueue("").GroupVersionKind, "", cq.Metadata.Name)
	switch {
	case len(never) > 0:
		c.Reason = ReasonQueueShort
		c.Summary = fmt.Sprintf("ClusterQueue %s of queue %s cannot admit this compute: %s.", cq.Metadata.Name, q.Name,
			Listed(never, 4))
		c.Hint = "Request less, use another queue, or request a higher quota."
	case len(later) > 0:
		c.Reason = ReasonQueued
		c.Summary = fmt.Sprintf("ClusterQueue %s of queue %s cannot admit the requests of this compute now: %s. It "+
			"waits in the queue until other workloads finish.", cq.Metadata.Name, q.Name, Listed(later, 4))
		if ways := cq.sharing(); len(ways) > 0 {
			c.Reason = ReasonQueueShared
			c.Summary = fmt.Sprintf("ClusterQueue %s of queue %s has not enough unused quota for the requests of this "+
				"compute: %s. It waits in the queue until %s, or other workloads finish.", cq.Metadata.Name, q.Name,
				Listed(later, 4), strings.Join(ways, ", "))
		}
	default:
		return nil
	}
	return []*Cause{c}
}
