package manifest

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// requestedReplicas returns the requested number of pods, and the attribute that
// sets it. The attribute is nil if the manifest or the default determines the
// number.
func requestedReplicas(c Compute) (n int64, attribute Path) {
	switch {
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

// scale sets the requested number of pods in a manifest of the user.
func scale(c Compute, k kind.Kind, workload map[string]any) Errors {
	requested, attribute := requestedReplicas(c)
	if attribute == nil {
		return nil
	}
	var errs Errors
	groups := k.Groups(workload)
	i := slices.IndexFunc(groups, func(g kind.Group) bool {
		return g.Scaled && g.SetCount(workload) > 0
	})
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
	each := g.SetCount(workload)
	if current := kind.PodCount(workload, groups); g.HasNumber(workload) {
		if also, ok := kind.NumberAt(workload, g.Also); current != requested ||
			ok && (also-g.Others)*each != g.Count(workload) {
			errs.at(attribute, "requests %d pods, but manifest runs %d (%s): use the same number, or remove one of "+
				"the two.", requested, current, dotted(g.Number))
			return errs
		}
	}
	rest := kind.PodCount(workload, groups) - g.Count(workload)
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

// PreserveReplicas sets the numbers of pods in a rendered workload to those of
// prior, which another client may have changed. If one of the two is suspended, a
// number that suspends it is not preserved. A resumed workload whose only number is
// that one gets resumed pods, unless that is zero.
func PreserveReplicas(
	rendered, prior *unstructured.Unstructured, suspended bool, resumed int64, podTemplate ...string,
) {
	k, _ := kindOfObject(rendered.GroupVersionKind(), podTemplate)
	suspends := func(path []string) bool {
		return slices.ContainsFunc(k.Suspension, func(s kind.Setting) bool { return slices.Equal(s.Path, path) })
	}
	before, groups := k.Groups(prior.Object), k.Groups(rendered.Object)
	for _, g := range groups {
		i := slices.IndexFunc(before, g.Is)
		if i < 0 {
			continue
		}
		for j, path := range g.Numbers() {
			n, ok := kind.NumberAt(prior.Object, before[i].Numbers()[j])
			switch {
			case !ok || path == nil:
			case !suspended || !suspends(path):
				kind.SetAt(rendered.Object, path, n)
			case resumed > 0 && len(groups) == 1 && slices.Equal(path, g.Number):
				kind.SetAt(rendered.Object, path, resumed)
			}
		}
	}
}
