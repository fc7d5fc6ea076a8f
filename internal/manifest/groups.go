package manifest

import (
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// requestedReplicas returns the requested number of pods, and the attribute that
// sets it. The attribute is nil if the manifest or the default determines the
// number.
func requestedReplicas(c Compute) (n int64, attribute Path) {
	switch {
	case c.ReplicasPreserved:
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

// configuredWorkers returns the configured number of workers, regardless of the live one.
func configuredWorkers(c Compute) int64 {
	c.ReplicasPreserved = false
	workers, _ := requestedReplicas(c)
	return workers
}

// scale sets the requested number of pods in a manifest of the user.
func scale(c Compute, k kind.Kind, workload map[string]any) Errors {
	requested, attribute := requestedReplicas(c)
	if attribute == nil {
		return nil
	}
	var errs Errors
	groups := k.Groups(workload)
	i := slices.IndexFunc(groups, func(g kind.Group) bool { return g.Scaled })
	if i < 0 {
		if !k.Scales {
			errs.at(attribute, "requests %d pods, but the provider cannot set the number of pods of a %s: set it in "+
				"manifest.", requested, k.Kind)
		} else if one := kind.PodCount(workload, groups); one != requested {
			errs.at(attribute, "requests %d pods, but the %s in manifest has no workers in addition to its %d: use "+
				"the same number.", requested, k.Kind, one)
		}
		return errs
	}
	g := groups[i]
	if current := kind.PodCount(workload, groups); g.HasNumber(workload) && !c.ReplicasPreserved {
		if also, ok := kind.NumberAt(workload, g.Also); current != requested ||
			ok && (also-g.Others)*max(g.Each, 1) != g.Count(workload) {
			errs.at(attribute, "requests %d pods, but manifest runs %d (%s): use the same number, or remove one of "+
				"the two.", requested, current, dotted(g.Number))
			return errs
		}
	}
	rest := kind.PodCount(workload, groups) - g.Count(workload)
	each := max(g.Each, 1)
	if requested < rest || (requested-rest)%each != 0 {
		errs.at(attribute, "requests %d pods, but the %s in manifest has %d in addition to those at %s, which are "+
			"added %d at a time: use a number that this allows.",
			requested, k.Kind, rest, dotted(g.Number), each)
		return errs
	}
	for _, path := range [][]string{g.Number, g.Also} {
		if path != nil {
			kind.SetAt(workload, path, (requested-rest)/each+g.Others)
		}
	}
	return nil
}
