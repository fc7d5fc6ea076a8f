package kind

// Group is a set of pods of a workload with the same template.
type Group struct {
	Template []string // where the pod template is
	Number   []string // where their number is; nil: one, or as many as others decide
	Also     []string // what must be the same number; nil: nothing
	Absent   int64    // what number means where it is not there
	Others   int64    // how many of number are pods of other groups
	Each     int64    // how many pods one of number is; zero: one
	Worker   bool     // no pod of it takes calls
	Scaled   bool     // it is the one to change where another number of pods is asked for
}

// Count returns the number of pods of the group.
func (g Group) Count(workload map[string]any) int64 {
	if g.Number == nil {
		return 1
	}
	n, ok := NumberAt(workload, g.Number)
	if !ok {
		n = g.Absent
	}
	return max(n-g.Others, 0) * max(g.Each, 1)
}

// Says tells whether the workload itself has the number of the group.
func (g Group) Says(workload map[string]any) bool {
	_, number := NumberAt(workload, g.Number)
	_, also := NumberAt(workload, g.Also)
	return number || also
}

// PodCount returns the number of pods of all groups of a workload.
func PodCount(workload map[string]any, groups []Group) int64 {
	var sum int64
	for _, g := range groups {
		sum += g.Count(workload)
	}
	return sum
}

// always are the same groups in every workload of a kind.
func always(groups ...Group) func(map[string]any) []Group {
	return func(map[string]any) []Group { return groups }
}

// replicated is a workload of equal pods with spec.replicas.
func replicated() func(map[string]any) []Group {
	return always(Group{
		Template: []string{"spec", "template"}, Number: []string{"spec", "replicas"}, Absent: 1, Scaled: true,
	})
}

// noReplicas suspends a workload that has spec.replicas.
func noReplicas() []Setting {
	return []Setting{{Path: []string{"spec", "replicas"}, Value: int64(0)}}
}

// suspendField suspends a workload that has a field for it.
func suspendField(path ...string) []Setting { return []Setting{{Path: path, Value: true}} }

// keepsPods is a workload whose pods stay as they are when their template changes.
func keepsPods(map[string]any) bool { return true }
