package acctest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestModuleDirsAreReadInTheirOrder(t *testing.T) {
	t.Parallel()
	dirs, err := decodeDirs(strings.NewReader(`{"Path": "a", "Version": "v2.0.0", "Dir": "/a2"}
{"Path": "b", "Version": "v1.0.0", "Dir": "/b"}
{"Path": "a", "Version": "v1.0.0", "Dir": "/a1"}`))
	if err != nil || strings.Join(dirs["a"], " ") != "/a2 /a1" || len(dirs) != 2 {
		t.Errorf("%v, %v", dirs, err)
	}
	_, err = decodeDirs(strings.NewReader(`{"Path": "a", "Version": "v2.0.0", "Error": "not found"}`))
	if err == nil || !strings.Contains(err.Error(), "a@v2.0.0: not found") {
		t.Errorf("error %v; want the module's", err)
	}
	if _, err = decodeDirs(strings.NewReader(`{`)); err == nil {
		t.Error("no error for output that was cut off")
	}
}

func TestFileIsLocatedInTheFirstDirectoryThatContainsIt(t *testing.T) {
	t.Parallel()
	newer, older := t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(newer, "both"), filepath.Join(older, "both"),
		filepath.Join(older, "gone")} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dirs := map[string][]string{"m": {newer, older}}
	for name, c := range map[string]struct{ file, want string }{
		"in both":         {"both", filepath.Join(newer, "both")},
		"in the older":    {"gone", filepath.Join(older, "gone")},
		"in none of them": {"none", ""},
	} {
		if got, err := locate(dirs, moduleFile{"m", c.file}); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// The CRDs come from ecosystem/crds, the controllers from modules that compile.
func TestControllersHaveTheVersionsOfTheirCRDs(t *testing.T) {
	t.Parallel()
	pinned := requirements(t, "ecosystem/crds")
	for _, module := range []string{"ecosystem", "ecosystem/karpenter", "ecosystem/keda", "ecosystem/kuberay"} {
		for path, version := range requirements(t, module) {
			if want, found := pinned[path]; found && want != version {
				t.Errorf("%s/go.mod requires %s %s, ecosystem/crds/go.mod %s", module, path, version, want)
			}
		}
	}
	for _, path := range []string{kubeRayModule, kueueModule, jobSetModule, lwsModule, trainingModule, knativeModule,
		karpenterModule, kedaModule} {
		if pinned[path] == "" {
			t.Errorf("ecosystem/crds/go.mod does not require %s", path)
		}
	}
}

// requirements are the versions in a go.mod, by module, without those that are only indirect: the CRDs of such a module
// have no controller here.
func requirements(t *testing.T, module string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(Root(), module, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^\s+(\S+) (v\S+)$`).FindAllStringSubmatch(string(content), -1) {
		versions[match[1]] = match[2]
	}
	return versions
}
