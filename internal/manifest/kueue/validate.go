package kueue

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// validator collects the problems of a queue.
type validator struct{ errs manifest.Errors }

// Validate returns the problems of a queue, each with its attribute. Flavors without a name and quotas without
// resources, which may be unknown, are ignored.
func Validate(q Queue) manifest.Errors {
	var v validator
	v.errs.RejectOthers("labels", q.DefaultLabels, q.Labels, manifest.OwnLabels(),
		func(string) (string, []manifest.Path) { return "the provider finds its objects with it", nil })
	v.errs.RejectOthers("annotations", q.DefaultAnnotations, q.Annotations, ownerAnnotation(q),
		func(string) (string, []manifest.Path) { return "it names the queue that defines a flavor", nil })
	if len(q.Flavors) == 0 {
		v.errs.At(manifest.At("flavors"), "is required. List at least one ResourceFlavor with its quotas, or set kai "+
			"for a queue of the KAI scheduler.").Concerning(manifest.At("kai"))
	}
	v.flavors(q)
	v.groups(q)
	v.quotas(q)
	v.preemption(q)
	return v.errs
}

func flavorAt(i int, inside ...manifest.Step) manifest.Path {
	return manifest.At("flavors", manifest.Index(i)).At(inside...)
}

func quotaAt(i int, name string, inside ...manifest.Step) manifest.Path {
	return flavorAt(i, manifest.Name("quotas"), manifest.Entry(name)).At(inside...)
}

// flavors rejects a flavor that is listed twice, a topology without nodes, and contradictory tolerations.
func (v *validator) flavors(q Queue) {
	first := map[string]int{}
	for i, flavor := range q.Flavors {
		if other, listed := first[flavor.Name]; listed && flavor.Name != "" {
			v.errs.At(flavorAt(i, manifest.Name("name")), "is %q, which is also the name of flavors[%d]. A "+
				"ClusterQueue can list a ResourceFlavor only once. Merge the quotas.", flavor.Name, other)
		} else {
			first[flavor.Name] = i
		}
		if flavor.TopologyName != "" && (flavor.NodeLabels == nil || len(*flavor.NodeLabels) == 0) {
			v.errs.At(flavorAt(i, manifest.Name("topology_name")),
				"requires node_labels, which select the nodes of the topology.").
				Concerning(flavorAt(i, manifest.Name("node_labels")))
		}
		v.errs.Tolerations(flavorAt(i, manifest.Name("tolerations")), flavor.Tolerations)
	}
}

// groups rejects flavors that have some of their resources in common, but not all.
func (v *validator) groups(q Queue) {
	for i, flavor := range q.Flavors {
		for j, other := range q.Flavors[:i] {
			mine, others := flavor.resources(), other.resources()
			if slices.Equal(mine, others) || !slices.ContainsFunc(mine, func(name string) bool {
				return slices.Contains(others, name)
			}) {
				continue
			}
			v.errs.At(flavorAt(i, manifest.Name("quotas")), "are for %s, and those of flavors[%d] for %s. Kueue "+
				"requires that flavors with a common resource have quotas for the same resources: add the missing "+
				"ones, with nominal = \"0\" where the nodes have none.", strings.Join(mine, ", "), j,
				strings.Join(others, ", "))
			break
		}
	}
}

// quotas rejects quantities that are no numbers of devices, limits that Kueue accepts only in a cohort, and a lending
// limit above the quota.
func (v *validator) quotas(q Queue) {
	for i, flavor := range q.Flavors {
		for _, name := range flavor.resources() {
			quota := flavor.Quotas[name]
			check := func(attribute manifest.Name, limit *resource.Quantity) {
				v.errs.Devices(quotaAt(i, name, attribute), name, limit)
				if limit != nil && q.Cohort == "" {
					v.errs.At(quotaAt(i, name, attribute), "requires cohort. Set cohort, or remove the limit.").
						Concerning(manifest.At("cohort"))
				}
			}
			v.errs.Devices(quotaAt(i, name, manifest.Name("nominal")), name, &quota.Nominal)
			check("borrowing_limit", quota.BorrowingLimit)
			check("lending_limit", quota.LendingLimit)
			if limit := quota.LendingLimit; limit != nil && limit.Cmp(quota.Nominal) > 0 {
				v.errs.At(quotaAt(i, name, manifest.Name("lending_limit")),
					"is %s, which exceeds nominal (%s). Reduce lending_limit, or increase nominal.", limit,
					&quota.Nominal).Concerning(quotaAt(i, name, manifest.Name("nominal")))
			}
		}
	}
}

// preemption rejects combinations of policies that Kueue rejects or ignores.
func (v *validator) preemption(q Queue) {
	p := q.Preemption
	if p == nil {
		return
	}
	at := func(name string) manifest.Path { return manifest.At("preemption", manifest.Name(name)) }
	borrows := p.BorrowWithinCohort != "" && p.BorrowWithinCohort != Never
	if borrows && (p.ReclaimWithinCohort == "" || p.ReclaimWithinCohort == Never) {
		v.errs.At(at("borrow_within_cohort"), "is %q, which requires reclaim_within_cohort with another value than %q.",
			p.BorrowWithinCohort, Never).Concerning(at("reclaim_within_cohort"))
	}
	if p.MaxPriorityThreshold != nil && !borrows {
		v.errs.At(at("max_priority_threshold"), "applies only with "+
			"borrow_within_cohort = \"LowerPriority\". Set borrow_within_cohort, or remove "+
			"max_priority_threshold.").Concerning(at("borrow_within_cohort"))
	}
}
