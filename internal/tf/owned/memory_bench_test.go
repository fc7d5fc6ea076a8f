package owned

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// BenchmarkRefresh is what the refresh of an unchanged object does after its private state was decoded. The objects
// are those of BenchmarkDrift in internal/kube/fields.
func BenchmarkRefresh(b *testing.B) {
	files, err := filepath.Glob("../../kube/fields/testdata/live/*.json")
	if err != nil || len(files) == 0 {
		b.Fatalf("no objects: %v", err)
	}
	for _, file := range files {
		b.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(b *testing.B) {
			var f struct {
				Sent, Live unstructured.Unstructured
				Entry      Entry
			}
			data, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			if err := json.Unmarshal(data, &f); err != nil {
				b.Fatal(err)
			}
			key := manifest.Key(&f.Sent)
			memory := Memory{key: f.Entry}
			b.ReportAllocs()
			for b.Loop() {
				refreshed, err := memory.Refresh(key, &f.Sent, &f.Live)
				if err != nil || refreshed.Differs {
					b.Fatal(refreshed.Changes, err)
				}
			}
		})
	}
}
