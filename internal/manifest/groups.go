package manifest

import "slices"

// A group is those pods of a workload that share a template.
type group struct {
	template []string // where the pod template is
	number   []string // where their number is; nil: one, or as many as others decide
	also     []string // what must be the same number; nil: nothing
	absent   int64    // what number means where it is not there
	each     int64    // how many pods one of number is; zero: one
	worker   bool     // no pod of it takes calls
	scaled   bool     // it is the one to change where another number of pods is asked for
}

type groupsFunc func(workload map[string]any) []group

// pods are the same groups in every workload of a kind.
func pods(groups ...group) groupsFunc {
	return func(map[string]any) []group { return groups }
}

// replicated is a workload of equal pods with spec.replicas.
func replicated() groupsFunc {
	return pods(group{
		template: []string{"spec", "template"}, number: []string{"spec", "replicas"}, absent: 1, scaled: true,
	})
}

// count is how many pods the group has.
func (g group) count(workload map[string]any) int64 {
	if g.number == nil {
		return 1
	}
	n, ok := numberAt(workload, g.number)
	if !ok {
		n = g.absent
	}
	return n * max(g.each, 1)
}

// says tells whether the workload itself has the number of the group.
func (g group) says(workload map[string]any) bool {
	_, number := numberAt(workload, g.number)
	_, also := numberAt(workload, g.also)
	return number || also
}

func podCount(workload map[string]any, groups []group) int64 {
	var sum int64
	for _, g := range groups {
		sum += g.count(workload)
	}
	return sum
}

// askedReplicas is how many pods the user asked for, and by which attribute;
// empty where by none, so that his manifest says it, or the default.
func askedReplicas(c Compute) (n int64, attribute string) {
	switch {
	case c.ReplicasKept:
		return c.Replicas, "replicas"
	case c.Distribute != nil && c.Distribute.Workers > 0:
		return c.Distribute.Workers, "distribute"
	case c.ReplicasGiven:
		return c.Replicas, "replicas"
	case c.Manifest != nil:
		return podCount(c.Manifest, kindOf(c).groups(c.Manifest)), ""
	default:
		return c.Replicas, ""
	}
}

// designedWorkers is how many workers were asked for, whatever runs now.
func designedWorkers(c Compute) int64 {
	c.ReplicasKept = false
	workers, _ := askedReplicas(c)
	return workers
}

// scale gives a workload of the user's the number of pods that was asked for.
func scale(c Compute, k kind, workload map[string]any) Errors {
	asked, attribute := askedReplicas(c)
	if attribute == "" {
		return nil
	}
	var errs Errors
	groups := k.groups(workload)
	i := slices.IndexFunc(groups, func(g group) bool { return g.scaled })
	if i < 0 {
		if !k.scales {
			errs.add(attribute, "asks for %d pods, but the number of pods of a %s is not for the provider to set: say it in manifest.", asked, k.gvk.Kind)
		} else if one := podCount(workload, groups); one != asked {
			errs.add(attribute, "asks for %d pods, but the %s of manifest has no workers beside its %d: make them the same.", asked, k.gvk.Kind, one)
		}
		return errs
	}
	g := groups[i]
	if said := podCount(workload, groups); g.says(workload) && !c.ReplicasKept {
		if also, ok := numberAt(workload, g.also); said != asked || ok && also*max(g.each, 1) != g.count(workload) {
			errs.add(attribute, "asks for %d pods, while manifest runs %d (%s): make them the same, or remove one of the two.", asked, said, dotted(g.number))
			return errs
		}
	}
	rest := podCount(workload, groups) - g.count(workload)
	each := max(g.each, 1)
	if asked < rest || (asked-rest)%each != 0 {
		errs.add(attribute, "asks for %d pods, but the %s of manifest has %d beside those at %s, which come %d at a time: give a number that this allows.",
			asked, k.gvk.Kind, rest, dotted(g.number), each)
		return errs
	}
	for _, path := range [][]string{g.number, g.also} {
		if path != nil {
			setAt(workload, path, (asked-rest)/each)
		}
	}
	return nil
}
