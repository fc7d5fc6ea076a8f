package histories_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/acctest/broken"
)

// TestAccHistoriesOfBrokenProvidersAreRejected compiles this test with providers that are broken on purpose, and
// expects that the histories show it.
func TestAccHistoriesOfBrokenProvidersAreRejected(t *testing.T) {
	overlays := map[string]string{} // also without KT_HISTORIES, to notice a fault that no longer fits the code
	for name, faults := range brokenProviders() {
		overlays[name] = broken.Overlay(t, faults...)
	}
	if os.Getenv("KT_HISTORIES") == "" {
		t.Skip("KT_HISTORIES is not set: see make histories")
	}
	cluster.Started(t)
	for name, overlay := range overlays {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), "go", "test", "-count", "1", "-overlay", overlay,
				"-run", "^TestAccHistories$/kt_image", "./test/histories")
			command.Dir = acctest.Root()
			command.Env = append(os.Environ(), "KT_HISTORIES=60", "KT_HISTORIES_SEED=1",
				acctest.SharedVariable+"="+cluster.Kubeconfig())
			out, err := command.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "breaks a promise") {
				t.Errorf("no history shows it: %v\n%s", err, out)
			}
		})
	}
}

func brokenProviders() map[string][]broken.Replacement {
	return map[string][]broken.Replacement{
		"a deletion ignores the UID": {
			{File: "internal/tf/owned/object.go",
				Old: "if same, err := memory.Has(key, live); err != nil || !same {\n\t\treturn false, OtherObject",
				New: "if same, err := memory.Has(key, live); err != nil {\n\t\t_ = same\n" +
					"\t\treturn false, OtherObject"},
			{File: "internal/kube/cluster.go", Old: "if uid != \"\" {\n\t\toptions", New: "if false {\n\t\toptions"},
		},
		"a creation takes over every object": {
			{File: "internal/tf/owned/creation.go", Old: "if live == nil || c.Adopt || c.replaces(live) {",
				New: "if live == nil || c.Adopt || c.replaces(live) || true {"},
		},
		"a refresh accepts another object": {
			{File: "internal/tf/owned/object.go",
				Old: "\tif err != nil || same {\n\t\treturn nil, err\n\t}\n\tknown := m[key]",
				New: "\tif err != nil || same || true {\n\t\treturn nil, err\n\t}\n\tknown := m[key]"},
		},
	}
}
