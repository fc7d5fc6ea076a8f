package options

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/ktdev/terraform-provider-kt/devcluster/internal/nodespec"
	"github.com/ktdev/terraform-provider-kt/devcluster/internal/pki"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := Parse([]string{
		"--dir", "d", "--kubeconfig=k", "--port", "7443", "--verbose", "--audit-log", "a",
		"--node", "name=a,gpus=1,product=L4", "--node", "name=b", "--crds", "x", "--crds", "y,z",
		"--kubelet", "--image", "options_test.go",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if got.Dir != "d" || got.Kubeconfig != "k" || got.Port != 7443 || !got.Verbose || got.AuditLog != "a" {
		t.Errorf("%+v", got)
	}
	if len(got.Nodes) != 2 || got.Nodes[0].Product != "L4" || got.Nodes[1].Name != "b" {
		t.Errorf("nodes %+v", got.Nodes)
	}
	if got.RealNodes != 1 || len(got.Images) != 1 {
		t.Errorf("%d real nodes, images %q", got.RealNodes, got.Images)
	}
	// A comma is part of the path: each flag sets one path.
	if len(got.CRDs) != 2 || got.CRDs[1] != "y,z" {
		t.Errorf("crds %q", got.CRDs)
	}
}

func TestParseDefaults(t *testing.T) {
	t.Parallel()
	got, err := Parse(nil, io.Discard)
	if err != nil || got.Dir != "" || got.RealNodes != 0 || got.Port != 0 ||
		len(got.Nodes) != len(nodespec.Defaults()) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestParseRejectsInvalidFlags(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ args, err string }{
		"an unknown flag":            {"--nodes=3", "unknown flag: --nodes"},
		"an unknown command":         {"start", `unknown command "start"`},
		"a port out of range":        {"--port=65536", "not a port"},
		"a negative port":            {"--port=-1", "not a port"},
		"a node without name":        {"--node=gpus=1", "--node: "},
		"a port that is no integer":  {"--port=x", "invalid argument"},
		"a negative number of nodes": {"--kubelet=-1", "is not a number of nodes"},
		"an image without --kubelet": {"--image=options_test.go", "add --kubelet"},
		"a missing image":            {"--kubelet --image=nowhere.tar", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse(strings.Fields(c.args), io.Discard); err == nil ||
				!strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v; want an error with %q", c.args, err, c.err)
			}
		})
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	t.Parallel()
	var help strings.Builder
	if _, err := Parse([]string{"--help"}, &help); !errors.Is(err, pflag.ErrHelp) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"--dir", "--kubeconfig", "--port", "--node", "--crds", "--audit-log", "--verbose",
		"--kubelet", "--image", "devcluster kubectl", "devcluster version", "READY"} {
		if !strings.Contains(help.String(), want) {
			t.Errorf("the help does not contain %s:\n%s", want, help.String())
		}
	}
}

func TestPrepareCreatesAndRemovesTemporaryDirectory(t *testing.T) {
	t.Parallel()
	opts, clean, err := Options{}.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	if opts.Kept() || !filepath.IsAbs(opts.Dir) || opts.Kubeconfig != filepath.Join(opts.Dir, "kubeconfig") ||
		opts.AuditLog != "" {
		t.Errorf("%+v", opts)
	}
	touch(t, opts.LogFile(), "")
	touch(t, opts.Kubeconfig, "")
	if err := clean(); err != nil {
		t.Error(err)
	}
	wantGone(t, opts.Dir)
}

func TestPrepareKeepsAGivenDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	foreign, earlier := filepath.Join(dir, "pki"), filepath.Join(dir, "devcluster-data", "etcd")
	touch(t, foreign, "mine")
	touch(t, earlier, "")
	opts, clean, err := Options{Dir: dir}.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	if !opts.Kept() {
		t.Error("the given directory is not kept")
	}
	touch(t, opts.LogFile(), "")
	if err := clean(); err != nil {
		t.Error(err)
	}
	for _, path := range []string{foreign, earlier, opts.LogFile()} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s was removed: %v", path, err)
		}
	}
}

func TestPrepareReplacesOnlyKubeconfigsOfDevClusters(t *testing.T) {
	t.Parallel()
	ours, err := pki.Kubeconfig("https://127.0.0.1:1", "user", nil, pki.Pair{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content string
		refused bool
	}{
		"an empty file":             {"", false},
		"of an earlier dev cluster": {string(ours), false},
		"of another cluster":        {strings.ReplaceAll(string(ours), pki.ClusterName, "production"), true},
		"some other YAML":           {"a: b\n", true},
		"not YAML":                  {"\x00", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "config")
			touch(t, file, c.content)
			_, _, err := Options{Dir: t.TempDir(), Kubeconfig: file}.Prepare()
			if refused := err != nil; refused != c.refused {
				t.Errorf("rejected: %t (%v); want %t", refused, err, c.refused)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != c.content {
				t.Errorf("the file was changed to %q, %v", got, err)
			}
		})
	}
}

func touch(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantGone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s still exists: %v", path, err)
	}
}
