package provider_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// passed matches the result of terraform test, which is a success without any test.
var passed = regexp.MustCompile(`Success! [1-9]\d* passed`)

// The tests of the modules and of the guide use mocks of the providers, so they need their schemas and no cluster.
func TestAccModulesPassTheirTests(t *testing.T) {
	t.Parallel()
	modules, err := filepath.Glob(filepath.Join(acctest.Modules(t), "*"))
	if err != nil || len(modules) == 0 {
		t.Fatal("no modules", err)
	}
	for _, dir := range append(modules, filepath.Join(acctest.Root(), "examples", "guides", "testing")) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			cli := acctest.NewCLI(t)
			cli.UseKubernetesProvider(t)
			cli.Copy(t, dir)
			if acctest.ProviderHost() == "registry.opentofu.org" { // 1.12 has no files of mocks
				if err := os.RemoveAll(filepath.Join(cli.Dir, "tests", "shared.tftest.hcl")); err != nil {
					t.Fatal(err)
				}
			}
			if out := cli.MustRun(t, "test"); !passed.MatchString(out) {
				t.Errorf("no test passed:\n%s", out)
			}
		})
	}
}
