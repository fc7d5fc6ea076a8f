package manifest

import (
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// askedReplicas is how many pods the user asked for, and by which attribute;
// nil where by none, so that his manifest says it, or the default.
func askedReplicas(c Compute) (n int64, attribute Path) {
	switch {
	case c.ReplicasKept:
		return c.Replicas, At("replicas")
	case c.Distribute != nil && c.Distribute.Workers > 0:
		return c.Distribute.Workers, At("distribute", Name("workers"))
	case c.ReplicasGiven:
		return c.Replicas, At("replicas")
	case c.Manifest != nil:
		return kind.PodCount(c.Manifest, kindOf(c).Groups(c.Manifest)), nil
	default:
		return c.Replicas, nil
	}
}

// designedWorkers is how many workers were asked for, whatever runs now.
func designedWorkers(c Compute) int64 {
	c.ReplicasKept = false
	workers, _ := askedReplicas(c)
	return workers
}

// scale gives a workload of the user's the number of pods that was asked for.
func scale(c Compute, k kind.Kind, workload map[string]any) Errors {
	asked, attribute := askedReplicas(c)
	if attribute == nil {
		return nil
	}
	var errs Errors
	groups := k.Groups(workload)
	i := slices.IndexFunc(groups, func(g kind.Group) bool { return g.Scaled })
	if i < 0 {
		if !k.Scales {
			errs.at(attribute, "requests %d pods, but the provider cannot set the number of pods of a %s: set it in "+
				"manifest.", asked, k.Kind)
		} else if one := kind.PodCount(workload, groups); one != asked {
			errs.at(attribute, "requests %d pods, but the %s in manifest has no workers in addition to its %d: use "+
				"the same number.", asked, k.Kind, one)
		}
		return errs
	}
	g := groups[i]
	if said := kind.PodCount(workload, groups); g.HasNumber(workload) && !c.ReplicasKept {
		if also, ok := kind.NumberAt(workload, g.Also); said != asked ||
			ok && (also-g.Others)*max(g.Each, 1) != g.Count(workload) {
			errs.at(attribute, "requests %d pods, but manifest runs %d (%s): use the same number, or remove one of "+
				"the two.", asked, said, dotted(g.Number))
			return errs
		}
	}
	rest := kind.PodCount(workload, groups) - g.Count(workload)
	each := max(g.Each, 1)
	if asked < rest || (asked-rest)%each != 0 {
		errs.at(attribute, "requests %d pods, but the %s in manifest has %d in addition to those at %s, which are "+
			"added %d at a time: use a number that this allows.",
			asked, k.Kind, rest, dotted(g.Number), each)
		return errs
	}
	for _, path := range [][]string{g.Number, g.Also} {
		if path != nil {
			kind.SetAt(workload, path, (asked-rest)/each+g.Others)
		}
	}
	return nil
}
