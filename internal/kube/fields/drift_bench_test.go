package fields

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// BenchmarkDrift compares an unchanged object with the one that was applied. The files in testdata/live are what the
// provider sent and remembered, and the object that a cluster has, for each kind of compute and its Service.
func BenchmarkDrift(b *testing.B) {
	files, err := filepath.Glob("testdata/live/*.json")
	if err != nil || len(files) == 0 {
		b.Fatalf("no objects: %v", err)
	}
	for _, file := range files {
		b.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(b *testing.B) {
			var f struct {
				Sent, Live unstructured.Unstructured
				Entry      struct {
					Set      json.RawMessage
					Admitted map[string]any
				}
			}
			data, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			if err := json.Unmarshal(data, &f); err != nil {
				b.Fatal(err)
			}
			owned, err := Parse(f.Entry.Set)
			if err != nil {
				b.Fatal(err)
			}
			applied := Applied{Object: f.Sent.Object, Set: owned, Admitted: f.Entry.Admitted, Recorded: true}
			b.ReportAllocs()
			for b.Loop() {
				if _, changes := applied.Drift(&f.Live); len(changes) > 0 {
					b.Fatal(words(changes))
				}
			}
		})
	}
}
