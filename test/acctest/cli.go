package acctest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"golang.org/x/mod/semver"
)

// CLI is a working directory of Terraform or OpenTofu with the provider binary.
// Tests use it for what terraform-plugin-testing, which runs the provider in the
// test's process, does not show: warnings, signals, logs and files.
type CLI struct {
	Dir       string
	binary    string
	env       []string
	settings  string            // the file with the CLI configuration
	overrides map[string]string // source of each provider, and the directory of its binary
	// provider starts a provider in the process of the test; nil if commands start the binary.
	provider func() (tfprotov6.ProviderServer, error)
	finish   func() // ends the last provider
}

// ProviderHost returns the registry in the address of the provider: TF_ACC_PROVIDER_HOST, or that of Terraform.
func ProviderHost() string { return cmp.Or(os.Getenv("TF_ACC_PROVIDER_HOST"), "registry.terraform.io") }

// ProviderBinary returns the path of the provider's binary, in KT_PROVIDER_DIR or in bin/.
func ProviderBinary() string {
	return filepath.Join(programPath("KT_PROVIDER_DIR", ""), "terraform-provider-kt")
}

// NewCLI returns an empty working directory. The provider binary is in
// KT_PROVIDER_DIR, or in bin/. The CLI is TF_ACC_TERRAFORM_PATH, or terraform or
// tofu on PATH.
func NewCLI(t *testing.T) *CLI {
	t.Helper()
	return NewCLIWith(t, programPath("KT_PROVIDER_DIR", ""))
}

// NewCLIWith is NewCLI with the provider binary in a directory.
func NewCLIWith(t *testing.T, bin string) *CLI {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("TF_ACC is not set")
	}
	if _, err := os.Stat(filepath.Join(bin, "terraform-provider-kt")); err != nil {
		t.Fatalf("%v; build the provider with: make build", err)
	}
	c := &CLI{Dir: t.TempDir(), binary: os.Getenv("TF_ACC_TERRAFORM_PATH")}
	for _, name := range []string{"terraform", "tofu"} {
		if c.binary == "" {
			c.binary, _ = exec.LookPath(name)
		}
	}
	if c.binary == "" {
		t.Fatal("neither terraform nor tofu is on PATH; set TF_ACC_TERRAFORM_PATH")
	}
	c.settings, c.overrides = filepath.Join(t.TempDir(), "cli.tfrc"), map[string]string{}
	c.override(t, "ktdev/kt", bin)
	c.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TF_CLI_CONFIG_FILE=" + c.settings,
		"TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1", "TF_INPUT=0",
	}
	return c
}

// override makes the CLI run the binary of a provider in a directory, without init.
func (c *CLI) override(t *testing.T, source, dir string) {
	t.Helper()
	c.overrides[source] = dir
	var text strings.Builder
	for _, source := range slices.Sorted(maps.Keys(c.overrides)) {
		fmt.Fprintf(&text, "    %q = %q\n", source, c.overrides[source])
	}
	settings := fmt.Sprintf("provider_installation {\n  dev_overrides {\n%s  }\n  direct {}\n}\n", text.String())
	if err := os.WriteFile(c.settings, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
}

// UseKubernetesProvider also provides hashicorp/kubernetes, of which KT_KUBERNETES_PROVIDER_DIR, or bin/, contains
// release 1.13.4.
func (c *CLI) UseKubernetesProvider(t *testing.T) {
	t.Helper()
	dir := programPath("KT_KUBERNETES_PROVIDER_DIR", "")
	const name = "terraform-provider-kubernetes"
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		t.Fatalf("%v; build it with: make bin/%s", err, name)
	}
	c.override(t, "hashicorp/kubernetes", dir)
}

// Install installs the provider with `make install`, instead of the development override of [NewCLI]. The CLI then
// needs init.
func (c *CLI) Install(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	// -o: the binary was built before the tests.
	command := exec.CommandContext(t.Context(), "make", "--silent", "-o", "build", "install",
		"PLUGIN_DIR="+filepath.Join(home, ".terraform.d", "plugins"))
	command.Dir = Root()
	command.Env = append(os.Environ(), "MAKEFLAGS=", "MFLAGS=") // not those of make test
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command.Args, err, out)
	}
	c.Setenv("HOME", home)
	c.Setenv("TF_CLI_CONFIG_FILE", os.DevNull)
}

// RequireTerraform skips a test unless the CLI is Terraform of at least this version.
func RequireTerraform(t *testing.T, version string) {
	t.Helper()
	c := NewCLI(t)
	var installed struct {
		Terraform string `json:"terraform_version"`
	}
	out := c.MustRun(t, "version", "-json")
	if err := json.Unmarshal([]byte(out), &installed); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if isTofu := ProviderHost() == "registry.opentofu.org"; isTofu ||
		semver.Compare("v"+installed.Terraform, "v"+version) < 0 {
		t.Skipf("needs Terraform %s", version)
	}
}

// Setenv adds a variable to the environment of the runs.
func (c *CLI) Setenv(name, value string) { c.env = append(c.env, name+"="+value) }

// source names the provider, for configurations that do not.
const source = "terraform {\n  required_providers {\n    kt = {\n      source = \"ktdev/kt\"\n    }\n  }\n}\n"

// Write replaces the configuration, which must not have required_providers.
func (c *CLI) Write(t *testing.T, config string) {
	t.Helper()
	c.write(t, "main.tf", source+config)
}

// Copy adds the files of a directory. Without a versions.tf, it adds one with the source of the provider.
func (c *CLI) Copy(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(c.Dir, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "versions.tf")); err != nil {
		c.write(t, "versions.tf", source)
	}
}

func (c *CLI) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Command returns a command, such as apply -auto-approve, that was not started.
func (c *CLI) Command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, c.binary, args...)
	command.Dir, command.Env = c.Dir, c.env
	return command
}

// Run runs a command and returns its output, without colors and without frames of diagnostics.
func (c *CLI) Run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return c.RunInColor(t, append(args, "-no-color")...)
}

// RunInColor runs a command and returns its output, with escape sequences for colors and frames of diagnostics.
func (c *CLI) RunInColor(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
	defer cancel()
	command := c.Command(ctx, args...)
	if c.provider != nil {
		variable, detach := c.attach(ctx, t)
		defer detach()
		command.Env = append(slices.Clone(c.env), variable)
	}
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	return out.String(), err
}

// MustRun is Run for commands that must not fail.
func (c *CLI) MustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.Run(t, args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}
