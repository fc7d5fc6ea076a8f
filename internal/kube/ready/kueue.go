package ready

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// The parts of Kueue's objects that count, which v1beta1 and v1beta2 share but
// for the name of the cohort (apis/kueue in sigs.k8s.io/kueue).
type (
	kueueWorkload struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec struct {
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
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec struct {
			Cohort         string `json:"cohort"`
			CohortName     string `json:"cohortName"`
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
			FlavorsReservation []struct {
				Resources []struct {
					Name  corev1.ResourceName `json:"name"`
					Total resource.Quantity   `json:"total"`
				} `json:"resources"`
			} `json:"flavorsReservation"`
		} `json:"status"`
	}
)

// ClusterQueueOf is the ClusterQueue that a queue leads to, "" where that is not
// known.
func (q *Queue) ClusterQueueOf() string {
	if lq := decoded[localQueue](q.object()); lq != nil {
		return lq.Spec.ClusterQueue
	}
	return ""
}

// kueue fills in why Kueue does not let a workload start. What is short may come
// free, and what is stopped may be resumed: only a queue that is not there ends
// a wait.
func (q *Queue) kueue(c *Cause, workload string) *Cause {
	if q.trouble(c, workload) || q.inactive(c) {
		return c
	}
	c.Reason = ReasonQueued
	c.Summary = fmt.Sprintf("Kueue has not admitted %s yet (queue %s)", workload, q.Name)
	c.Hint = seeWorkload
	c.Command = kubectl(q.Namespace, "get workloads.kueue.x-k8s.io -o wide")
	waiting := q.waiting()
	if len(waiting) > 0 {
		why, hint := waiting[0].why()
		c.Command = kubectl(q.Namespace, "describe workload.kueue.x-k8s.io "+waiting[0].Metadata.Name)
		if why != "" {
			c.Summary += ": " + strings.TrimSuffix(why, ".")
		}
		c.Hint = cmp.Or(hint, c.Hint)
	}
	c.Summary += "."
	short, never := q.shortage(waiting)
	switch {
	case never:
		c.Summary += " " + short + " The queue never has room for all of it."
		c.Hint = "Ask for less (`gpus`, `cpus`, `memory`, `replicas`), choose another queue, or have the quota raised."
	case short != "":
		c.Summary += " " + short
		c.Hint = "Wait until others in the queue end, ask for less (`gpus`, `cpus`, `memory`, `replicas`), or have the quota raised."
	case len(waiting) == 0:
		c.Summary += " " + onceThereIsRoom
	}
	return c
}

// inactive is whether the LocalQueue or its ClusterQueue admits nothing now.
func (q *Queue) inactive(c *Cause) bool {
	command := kubectl(q.Namespace, "describe localqueue.kueue.x-k8s.io "+q.Name)
	object, why := "LocalQueue "+q.Name, condition{}
	if lq := decoded[localQueue](q.object()); lq != nil {
		why = conditionOf(lq.Status.Conditions, "Active")
	}
	if cq := decoded[clusterQueue](q.ClusterQueue); cq != nil {
		if active := conditionOf(cq.Status.Conditions, "Active"); active.fails() {
			object, why = "ClusterQueue "+cq.Metadata.Name, active
			command = "kubectl describe clusterqueue.kueue.x-k8s.io " + cq.Metadata.Name
		}
	}
	if !why.fails() {
		return false
	}
	c.Reason, c.Command = ReasonQueueInactive, command
	c.Summary = fmt.Sprintf("%s admits nothing now%s. The compute starts when the queue is active again.", object, why.says())
	c.Hint = "Ask who runs the queue, or choose another in `queue_name`."
	return true
}

// waiting are the Workloads that are not admitted, by name.
func (q *Queue) waiting() []*kueueWorkload {
	var out []*kueueWorkload
	for _, u := range q.Holds {
		w := decoded[kueueWorkload](u)
		if w == nil || conditionOf(w.Status.Conditions, "Finished").holds() || conditionOf(w.Status.Conditions, "Admitted").holds() {
			continue
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b *kueueWorkload) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	return out
}

// why is what Kueue says of a Workload that waits, and what to do where that is
// particular.
func (w *kueueWorkload) why() (text, hint string) {
	quota := conditionOf(w.Status.Conditions, "QuotaReserved")
	evicted := conditionOf(w.Status.Conditions, "Evicted")
	switch {
	case w.Spec.Active != nil && !*w.Spec.Active:
		return "its Workload is deactivated" + cmp.Or(evicted.says(), conditionOf(w.Status.Conditions, "DeactivationTarget").says()),
			"Set the Workload's spec.active to true once the reason is gone."
	case quota.holds():
		var checks []string
		for _, check := range w.Status.AdmissionChecks {
			if check.State != "Ready" {
				checks = append(checks, strings.TrimSuffix(fmt.Sprintf("%s is %s: %s", check.Name, check.State, clip(check.Message)), ": "))
			}
		}
		if len(checks) == 0 {
			return "its quota is reserved", ""
		}
		return "its quota is reserved, but admission checks are not done: " + listed(checks, 3), "Ask who runs the controllers of the admission checks."
	case evicted.holds():
		text = "it was evicted" + evicted.says()
		if quota.Message != "" {
			text += "; since then: " + clip(quota.Message)
		}
		return text + "; it starts again once the queue has room", ""
	}
	return clip(quota.Message), ""
}

// shortage compares what Workloads need with what their ClusterQueue has, and
// says whether that is more than it can ever have.
func (q *Queue) shortage(waiting []*kueueWorkload) (text string, never bool) {
	cq := decoded[clusterQueue](q.ClusterQueue)
	if cq == nil {
		return "", false
	}
	need := corev1.ResourceList{}
	for _, w := range waiting {
		for _, set := range w.Spec.PodSets {
			one := resourcehelper.PodRequests(&corev1.Pod{Spec: set.Template.Spec}, resourcehelper.PodResourcesOptions{})
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
			parts = append(parts, fmt.Sprintf("%s are needed, %s has %s, %s in use", amountOf(name, need), cq.Metadata.Name, amount(name, have), amount(name, inUse)))
		}
	}
	if len(parts) == 0 {
		return "", false
	}
	text = "Of its quota: " + listed(parts, 4)
	if cohort := cq.cohort(); cohort != "" {
		text += fmt.Sprintf(" (it may borrow from cohort %s)", cohort)
	}
	return text + ".", never
}

func (cq *clusterQueue) cohort() string { return cmp.Or(cq.Spec.CohortName, cq.Spec.Cohort) }

// quotas sum up all flavors: what the queue has of its own, the most that it can
// ever use (without an entry where that has no bound of its own), and what is
// in use.
func (cq *clusterQueue) quotas() (nominal, most, used corev1.ResourceList) {
	nominal, most, used = corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	unbounded := map[corev1.ResourceName]bool{}
	for _, group := range cq.Spec.ResourceGroups {
		for _, flavor := range group.Flavors {
			for _, r := range flavor.Resources {
				add(nominal, corev1.ResourceList{r.Name: r.NominalQuota}, 1)
				add(most, corev1.ResourceList{r.Name: r.NominalQuota}, 1)
				switch {
				case cq.cohort() == "":
				case r.BorrowingLimit == nil:
					unbounded[r.Name] = true
				default:
					add(most, corev1.ResourceList{r.Name: *r.BorrowingLimit}, 1)
				}
			}
		}
	}
	for name := range unbounded {
		delete(most, name)
	}
	for _, flavor := range cq.Status.FlavorsReservation {
		for _, r := range flavor.Resources {
			add(used, corev1.ResourceList{r.Name: r.Total}, 1)
		}
	}
	return nominal, most, used
}

// add adds n times what is in more to sum.
func add(sum, more corev1.ResourceList, n int64) {
	for name, q := range more {
		q = q.DeepCopy()
		q.Mul(n)
		total := sum[name]
		total.Add(q)
		sum[name] = total
	}
}

// kueueOutlook finds an inactive queue, and what is asked for beyond all that
// the ClusterQueue can ever admit. A resource that it does not cover at all
// keeps a workload out too.
func (q *Queue) kueueOutlook(c *Cause, ask Ask) []*Cause {
	if q.inactive(c) {
		return []*Cause{c}
	}
	cq := decoded[clusterQueue](q.ClusterQueue)
	if cq == nil || len(cq.Spec.ResourceGroups) == 0 {
		return nil
	}
	nominal, most, used := cq.quotas()
	requests := ask.Requests.DeepCopy()
	if _, counted := nominal[corev1.ResourcePods]; counted {
		requests[corev1.ResourcePods] = *resource.NewQuantity(int64(ask.Pods), resource.DecimalSI)
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
			never = append(never, fmt.Sprintf("%s are asked for, and it can never admit more than %s", amountOf(name, requests), amount(name, ceiling)))
		case want.Cmp(free) > 0:
			inUse := used[name]
			later = append(later, fmt.Sprintf("%s are asked for, it has %s, %s in use", amountOf(name, requests), amount(name, have), amount(name, inUse)))
		}
	}
	c.Command = "kubectl describe clusterqueue.kueue.x-k8s.io " + cq.Metadata.Name
	switch {
	case len(never) > 0:
		c.Reason = ReasonQueueShort
		c.Summary = fmt.Sprintf("ClusterQueue %s of queue %s cannot admit this compute: %s.", cq.Metadata.Name, q.Name, listed(never, 4))
		c.Hint = "Ask for less, choose another queue, or have the quota raised."
	case len(later) > 0:
		c.Reason = ReasonQueued
		c.Summary = fmt.Sprintf("ClusterQueue %s of queue %s has no room for all of this compute now: %s. It waits in the queue until others end.", cq.Metadata.Name, q.Name, listed(later, 4))
	default:
		return nil
	}
	return []*Cause{c}
}
