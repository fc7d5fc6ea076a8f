package manifest_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// BenchmarkRender renders one compute of each kind to the text in state, and one with all attributes.
func BenchmarkRender(b *testing.B) {
	all := allGoldens(b)
	modes := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		if modes[c.Mode()] && name != "everything" {
			continue
		}
		modes[c.Mode()] = true
		b.Run(c.Mode()+"/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				objects, err := manifest.Render(c)
				if err != nil {
					b.Fatal(err)
				}
				for _, obj := range objects {
					if _, err := manifest.JSON(obj); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
