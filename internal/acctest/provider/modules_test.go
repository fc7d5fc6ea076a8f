package provider_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// The tests of the modules use mocks of the providers, so they need their schemas and no cluster.
func TestAccModulesPassTheirTests(t *testing.T) {
	t.Parallel()
	modules := acctest.Modules(t)
	dirs, err := os.ReadDir(modules)
	if err != nil || len(dirs) == 0 {
		t.Fatal("no modules", err)
	}
	for _, dir := range dirs {
		t.Run(dir.Name(), func(t *testing.T) {
			t.Parallel()
			cli := acctest.NewCLI(t)
			cli.UseKubernetesProvider(t)
			if err := os.CopyFS(cli.Dir, os.DirFS(filepath.Join(modules, dir.Name()))); err != nil {
				t.Fatal(err)
			}
			acctest.ExpectText(t, cli.MustRun(t, "test"), "Success!")
		})
	}
}
