package ready

import "testing"

// BenchmarkAssess assesses one snapshot of each kind of workload.
func BenchmarkAssess(b *testing.B) {
	seen := map[string]bool{}
	for _, file := range fixtureFiles(b) {
		snapshot := readFixture(b, file).snapshot(b)
		if snapshot.Workload == nil || seen[snapshot.Workload.GroupVersionKind().GroupKind().String()] {
			continue
		}
		seen[snapshot.Workload.GroupVersionKind().GroupKind().String()] = true
		b.Run(snapshot.Workload.GetKind()+"/"+fixtureName(file), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Assess(snapshot)
			}
		})
	}
}
