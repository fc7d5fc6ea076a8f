package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// runSetUp runs the startup script of a compute with the setup of an image.
func runSetUp(t *testing.T, setup string, env []string, change func(*Compute), programs ...string) outcome {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "setup.sh"), []byte(setup), 0o644); err != nil {
		t.Fatal(err)
	}
	c := compute(func(c *Compute) { c.ImageSetup = &ImageSetup{ConfigMap: "kt-image-x"} }, change)
	return runScript(t, strings.ReplaceAll(startupScript(c, kindOf(c)), imagePath, dir), "", env, programs...)
}

func TestScriptSetsUpTheImageFirst(t *testing.T) {
	t.Parallel()
	const setup = `[ "$KT_SERVICE" = svc ] && [ -f "$KT_IMAGE_DIR/setup.sh" ] || return 9
export KT_SERVICE=of-the-image KT_INSTALL_NAMESPACE=of-the-image`
	got := runSetUp(t, setup, []string{"KT_INSTALL_NAMESPACE=of-the-compute", "KT_LOG_LEVEL=INFO"}, func(c *Compute) {
		c.EnvVars = map[string]string{"KT_INSTALL_NAMESPACE": "of-the-compute", "not.an.identifier": "x"}
	}, "python3", "uv")
	if got.code != 0 || len(got.calls) != 2 {
		t.Fatalf("exit %d, calls %v, stderr %s", got.code, got.calls, got.stderr)
	}
	for _, c := range got.calls {
		if c.service != "of-the-image" {
			t.Errorf("%s sees service %q, want what the set-up exports", c.program, c.service)
		}
		if c.installNamespace != DefaultInstallNamespace {
			t.Errorf("%s sees install namespace %q, want what it was before", c.program, c.installNamespace)
		}
	}
}

func TestScriptStopsAtAFailedSetup(t *testing.T) {
	t.Parallel()
	for _, setup := range []string{"return 7", "exit 7", "(exit 7)"} {
		got := runSetUp(t, setup, []string{"KT_LOG_LEVEL=INFO"}, frozen, "python3")
		if got.code != 7 || len(got.calls) != 0 {
			t.Errorf("%s: exit %d, calls %v, stderr %s; want 7 and no server", setup, got.code, got.calls, got.stderr)
		}
	}
}

func TestScriptRunsThePythonAndInstallerOfTheImage(t *testing.T) {
	t.Parallel()
	got := runSetUp(t, "", nil, func(c *Compute) {
		c.ImageSetup.PythonPath, c.ImageSetup.InstallCmd = "python",
			"uv pip install --index-url 'https://pypi.example/a b'"
	}, "python3", "python", "uv")
	if got.code != 0 || len(got.calls) != 2 {
		t.Fatalf("exit %d, calls %v, stderr %s", got.code, got.calls, got.stderr)
	}
	if want := []string{"pip", "install", "--index-url", "https://pypi.example/a b",
		"kubetorch[server]==0.5.0"}; !slices.Equal(got.calls[0].args, want) {
		t.Errorf("installs with %q, want %q", got.calls[0].args, want)
	}
	if got.calls[1].program != "python" {
		t.Errorf("runs the server with %s", got.calls[1].program)
	}
	got = runSetUp(t, "", nil, func(c *Compute) { c.Freeze, c.ImageSetup.InstallCmd = true, "uv pip install" },
		"python3", "uv")
	if got.code != 0 || len(got.calls) != 1 {
		t.Errorf("frozen: exit %d, calls %v, stderr %s", got.code, got.calls, got.stderr)
	}
	got = runSetUp(t, "", nil, func(c *Compute) { c.ImageSetup.PythonPath = "/no/such python" }, "python3")
	if got.code != 127 || !strings.Contains(got.stderr, "no python at /no/such python") {
		t.Errorf("without its python: exit %d, calls %v, stderr %s", got.code, got.calls, got.stderr)
	}
}
