package ready

import "testing"

// BenchmarkAssess assesses one snapshot of each kind of workload.
func BenchmarkAssess(b *testing.B) {
	seen := map[string]bool{}
	all, names := readFixtures(b)
	for _, name := range names {
		snapshot := all.snapshot(b, name)
		if snapshot.Workload == nil || seen[snapshot.Workload.GroupVersionKind().GroupKind().String()] {
			continue
		}
		seen[snapshot.Workload.GroupVersionKind().GroupKind().String()] = true
		b.Run(snapshot.Workload.GetKind()+"/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Assess(snapshot)
			}
		})
	}
}
