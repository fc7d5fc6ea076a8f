package kind

import "slices"

// Group is a set of pods of a workload with the same template.
type Group struct {
	Name      string   // for a kind whose groups have names
	Label     string   // key=value of the label by which the controller marks the pods of a group with a name
	Template  []string // path of the pod template
	Number    []string // path of the number of pods; nil: one pod, or a number set by a controller
	Also      []string // path of a field that must have the same value; nil: none
	Least     []string // path of the smallest allowed number; nil: none
	AtLeast   int64    // the smallest number without one at Least
	Most      []string // path of the largest allowed number; nil: none
	OnlyGrows bool     // the workload fails if the number is lowered
	Absent    int64    // value of an absent number
	Others    int64    // pods of other groups that the number includes
	Sets      []string // path of a number by which the number is multiplied, one if absent; nil: one
	Worker    bool     // its pods do not receive calls
	Scaled    bool     // setting the number of pods changes this group
}

// Count returns the number of pods of the group.
func (g Group) Count(workload map[string]any) int64 {
	if g.Number == nil {
		return 1
	}
	return max(g.NumberIn(workload)-g.Others, 0) * g.SetCount(workload)
}

// NumberIn returns the number at Number, or Absent.
func (g Group) NumberIn(workload map[string]any) int64 {
	return numberOr(workload, g.Number, g.Absent)
}

// SetCount returns the number at Sets.
func (g Group) SetCount(workload map[string]any) int64 {
	return numberOr(workload, g.Sets, 1)
}

// Minimum returns the smallest allowed number.
func (g Group) Minimum(workload map[string]any) int64 {
	return numberOr(workload, g.Least, g.AtLeast)
}

func numberOr(workload map[string]any, path []string, absent int64) int64 {
	if n, ok := NumberAt(workload, path); ok {
		return n
	}
	return absent
}

// Numbers returns the paths of the fields that determine the number of pods; nil
// for each that the kind lacks.
func (g Group) Numbers() [][]string { return [][]string{g.Number, g.Also, g.Sets} }

// Is reports whether the group of another workload of the same kind has the same
// purpose.
func (g Group) Is(other Group) bool {
	return g.Name == other.Name && (g.Name != "" || slices.Equal(g.Template, other.Template))
}

// HasNumber reports whether the workload contains the number of the group.
func (g Group) HasNumber(workload map[string]any) bool {
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

// always returns the same groups for every workload of a kind.
func always(groups ...Group) func(map[string]any) []Group {
	return func(map[string]any) []Group { return groups }
}

// replicated returns the group of a workload of equal pods with spec.replicas.
func replicated() func(map[string]any) []Group {
	return always(Group{
		Template: []string{"spec", "template"}, Number: scaledReplicas(), Absent: 1, Scaled: true,
	})
}

// scaledReplicas is [Workload.Scale] of a workload with spec.replicas.
func scaledReplicas() []string { return []string{"spec", "replicas"} }

// noReplicas returns the setting that suspends a workload with spec.replicas.
func noReplicas() []Setting {
	return []Setting{{Path: scaledReplicas(), Value: int64(0)}}
}

// suspendField returns the setting that suspends a workload with a field for it.
func suspendField(path ...string) []Setting { return []Setting{{Path: path, Value: true}} }

// keepsPods is [Workload.KeepsPods] for a workload whose running pods are always
// kept if their template changes.
func keepsPods(map[string]any) bool { return true }
