package failures_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

var update = flag.Bool("update", false, "rewrite the transcript of the first hour")

// hourStep is one command of a new user in the directory of the guide to get started.
type hourStep struct {
	name    string // of the file with the output
	prepare func(t *testing.T, h *hour)
	args    []string
	fails   bool
	texts   []string // that the output contains, whatever the transcript says
}

// hour is the working directory of a new user, and a dev cluster as in the guide.
type hour struct {
	cli     *acctest.CLI
	cluster *acctest.Cluster
	config  string // content of main.tf in the guide
}

// edit replaces a text in the configuration of the guide.
func (h *hour) edit(t *testing.T, old, replacement string) {
	t.Helper()
	if strings.Count(h.config, old) != 1 {
		t.Fatalf("main.tf of the guide does not contain %q once", old)
	}
	text := strings.Replace(h.config, old, replacement, 1)
	if err := os.WriteFile(filepath.Join(h.cli.Dir, "main.tf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const memoryLine = `memory = "4Gi"`

func firstHour() []hourStep {
	apply := []string{"apply", "-auto-approve"}
	setContext := func(name string) func(*testing.T, *hour) {
		return func(_ *testing.T, h *hour) { h.cli.Setenv("KUBE_CTX", name) }
	}
	return []hourStep{
		{name: "installed", args: []string{"init"}, texts: []string{"Installed ktdev/kt"}},
		{name: "wrong-context", prepare: setContext("prod"), args: apply, fails: true,
			texts: []string{`context "prod" is not in kubeconfig`}},
		{name: "missing-namespace", prepare: setContext(""), args: apply, fails: true,
			texts: []string{`Namespace "ml" does not exist`}},
		{
			name: "missing-service-account", args: apply, fails: true,
			prepare: func(t *testing.T, h *hour) { h.cluster.Kubectl(t, "create", "namespace", "ml") },
			texts: []string{"The service account does not exist yet",
				`ServiceAccount "kubetorch-service-account" does not exist in namespace ml`},
		},
		{
			name: "unknown-gpu", args: append(apply, "-var=gpu_type=NVIDIA-L40"), fails: true,
			prepare: func(t *testing.T, h *hour) {
				h.cluster.Kubectl(t, "create", "serviceaccount", "kubetorch-service-account", "-n", "ml")
			},
			texts: []string{"nvidia.com/gpu.product=NVIDIA-L40", "NVIDIA-L4"},
		},
		{
			name: "invalid-quantity", args: []string{"validate"}, fails: true,
			prepare: func(t *testing.T, h *hour) { h.edit(t, memoryLine, `memory = "4gb"`) },
			texts:   []string{`did you mean "4G"`},
		},
		{
			name: "missing-key", args: apply, fails: true,
			prepare: func(t *testing.T, h *hour) {
				h.cluster.Apply(t, strings.ReplaceAll(secretWithToken, "HF_TOKEN", "TOKEN"), "-n", "ml")
				h.edit(t, memoryLine, memoryLine+`

  secrets = [{ name = "huggingface", env_vars = ["HF_TOKEN"] }]`)
			},
			texts: []string{`Secret "huggingface" in namespace ml has no key "HF_TOKEN"`},
		},
		{
			name: "ready", args: apply,
			prepare: func(t *testing.T, h *hour) { h.edit(t, memoryLine, memoryLine) },
			texts:   []string{"Apply complete!", "ready = true"},
		},
		{name: "unchanged", args: []string{"plan", "-detailed-exitcode"}, texts: []string{"No changes."}},
		{name: "destroyed", args: []string{"destroy", "-auto-approve"}, texts: []string{"Destroy complete!"}},
	}
}

// The outputs are part of the guide first-hour. -update rewrites them.
func TestAccFirstHourEndsWithARunningCompute(t *testing.T) {
	t.Parallel()
	h := &hour{cli: acctest.NewCLI(t), cluster: acctest.OwnCluster(t,
		"--node", "name=h100-0,gpus=8,product=NVIDIA-H100-80GB-HBM3",
		"--node", "name=h100-1,gpus=8,product=NVIDIA-H100-80GB-HBM3", "--node", "name=l4-0,gpus=1,product=NVIDIA-L4")}
	h.cli.Install(t)
	guide := filepath.Join(acctest.Root(), "examples", "guides", "getting-started")
	if err := os.CopyFS(h.cli.Dir, os.DirFS(guide)); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := os.ReadFile(h.cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.cli.Dir, "kc"), kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(h.cli.Dir, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	h.config = string(config)
	h.cli.Setenv("KUBE_CONFIG_PATH", "kc")
	h.cli.Setenv("KT_NAMESPACE", "ml")
	for _, step := range firstHour() {
		if step.prepare != nil {
			step.prepare(t, h)
		}
		out, err := h.cli.RunInColor(t, step.args...) // for the frames
		out = escapes.ReplaceAllString(out, "")
		if (err != nil) != step.fails {
			t.Fatalf("%s: %v\n%s", step.name, err, out)
		}
		acctest.ExpectText(t, out, step.texts...)
		if strings.Contains(out, acctest.Canary) {
			t.Errorf("%s: the output contains the value of a Secret", step.name)
		}
		compareTranscript(t, step.name, transcript(step.args, out))
	}
}

// transcript returns the command, and of its output the diagnostics and the result.
func transcript(args []string, out string) string {
	text := "$ terraform " + strings.Join(args, " ") + "\n"
	out = podName.ReplaceAllString(out, "hello-6d5f9c7b84-x7k2p")
	out = replicaSet.ReplaceAllString(repeated.ReplaceAllString(out, ""), "hello-6d5f9c7b84")
	out = strings.ReplaceAll(out, "OpenTofu", "Terraform")
	for _, part := range shown.FindAllString(out, -1) {
		if !strings.Contains(part, "Incomplete lock file information") { // concerns other platforms
			text += spaces.ReplaceAllString(part, "") + "\n"
		}
	}
	return text
}

var (
	escapes    = regexp.MustCompile(`\x1b\[[0-9;]*m`) // for colors
	podName    = regexp.MustCompile(`\bhello-[0-9a-f]{6,10}-[0-9a-z]{5}\b`)
	replicaSet = regexp.MustCompile(`\bhello-[0-9a-f]{6,10}\b`)
	repeated   = regexp.MustCompile(` \(x\d+\)`) // of an event
	shown      = regexp.MustCompile(`(?ms)^(╷.*?\n╵|` +
		`(- Installed|Terraform has been|Apply complete|Destroy complete|No changes|ready|url)\b[^\n]*)`)
	spaces = regexp.MustCompile(`(?m) +$`)
)

// compareTranscript compares a transcript with its file, except for line breaks, which depend on the length of names.
func compareTranscript(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "first-hour", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if acctest.Unwrap(got) != acctest.Unwrap(string(want)) {
		t.Errorf("%s: the output is\n%s\nwant\n%s\n(-update rewrites it)", name, got, want)
	}
}
