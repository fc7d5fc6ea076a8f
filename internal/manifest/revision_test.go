package manifest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// The output of a revision must never change, because running pods would restart.
// -update writes only missing files.
func TestRevisionsRenderUnchanged(t *testing.T) {
	t.Parallel()
	for i, revision := range manifest.Revisions() {
		if revision.Number != int64(i+1) {
			t.Fatalf("revision %d is entry %d of the table", revision.Number, i+1)
		}
		t.Run(fmt.Sprint(revision.Number), func(t *testing.T) {
			t.Parallel()
			got := inPods(t, revision)
			file := filepath.Join("testdata", "revisions", fmt.Sprintf("%d.golden", revision.Number))
			want, err := os.ReadFile(file)
			if errors.Is(err, fs.ErrNotExist) && *update {
				want, err = []byte(got), os.WriteFile(file, []byte(got), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("revision %d renders something else than it did (-was +is): put it back, and add a revision "+
					"for the change\n%s", revision.Number, diff)
			}
		})
	}
}

// inPods returns the output of a revision for various computes.
func inPods(t *testing.T, revision manifest.Revision) string {
	t.Helper()
	setup := &manifest.ImageSetup{ConfigMap: "kt-image", Digest: "sha256:1", PythonPath: "/opt/py bin/python",
		InstallCmd: "uv pip install"}
	cases := map[string]manifest.Compute{
		"everything":   everything(t),
		"minimal":      minimal(),
		"frozen":       minimal(func(c *manifest.Compute) { c.Freeze = true }),
		"image set-up": minimal(func(c *manifest.Compute) { c.ImageSetup = setup }),
		"expanded": minimal(func(c *manifest.Compute) {
			c.EnvVars = map[string]string{"PATH": "$PATH:/x", "DATA": "$HOME/a \"b\""}
		}),
		"ray": minimal(func(c *manifest.Compute) {
			c.Distribute = &manifest.Distribute{Type: "ray", Workers: 2}
		}),
		"knative":           minimal(func(c *manifest.Compute) { c.Autoscale = &manifest.Autoscale{} }),
		"install name":      minimal(func(c *manifest.Compute) { c.InstallNamespace = "kt system" }),
		"another Kubetorch": minimal(func(c *manifest.Compute) { c.KubetorchVersion = "0.4.9" }),
	}
	var b strings.Builder
	names := make([]string, 0, len(cases))
	for name := range cases {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c := cases[name]
		of, _ := kind.Of(render(t, c)[0].GroupVersionKind().GroupKind())
		fmt.Fprintf(&b, "--- %s\n%s%s\n", name, revision.StartupScript(c, of), toJSON(t, revision.Probes(c)))
	}
	return b.String()
}

func TestRevisionOfAComputeDecidesWhatRunsInItsPods(t *testing.T) {
	t.Parallel()
	first := manifest.Revisions()[0]
	second := first
	second.Number = 2
	second.StartupScript = func(c manifest.Compute, of kind.Kind) string {
		return "# two\n" + first.StartupScript(c, of)
	}
	for name, c := range map[string]manifest.Compute{
		"Deployment": minimal(),
		"RayCluster": minimal(func(c *manifest.Compute) {
			c.Distribute = &manifest.Distribute{Type: "ray", Workers: 2}
		}),
		"Job": byo(t, "kind: Job\napiVersion: batch/v1\nspec: {template: {spec: {containers: [{name: kubetorch}]}}}"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.Name == "" {
				c.Name, c.Namespace = "svc", "ml"
			}
			with := func(r manifest.Revision) string {
				c := c
				c.Revision = r
				return toJSON(t, render(t, c)[0].Object)
			}
			if old := toJSON(t, render(t, c)[0].Object); with(first) != old {
				t.Error("the first revision renders something else than a compute without one")
			}
			if got := with(second); !strings.Contains(got, "# two") || got == with(first) {
				t.Errorf("the second revision is not what is rendered:\n%s", got)
			}
		})
	}
}

func TestKubetorchVersionIsInstalledAndLabelled(t *testing.T) {
	t.Parallel()
	c := minimal(func(c *manifest.Compute) { c.KubetorchVersion, c.Registered = "0.4.9", true })
	for _, object := range render(t, c) {
		if got := object.GetLabels()[kind.VersionLabel]; got != "0.4.9" {
			t.Errorf("%s has version %q", manifest.Key(object), got)
		}
	}
	if text := toJSON(t, render(t, c)[0].Object); !strings.Contains(text, "kubetorch[server]==0.4.9") ||
		strings.Contains(text, manifest.KubetorchVersion) {
		t.Errorf("not only 0.4.9 is installed:\n%s", text)
	}
}

func TestSamePodsComparesOnlyTheTemplates(t *testing.T) {
	t.Parallel()
	ray := func(c *manifest.Compute) { c.Distribute = &manifest.Distribute{Type: "ray", Workers: 2} }
	for name, tc := range map[string]struct {
		base, change func(*manifest.Compute)
		same         bool
	}{
		"another number of a Deployment": {func(*manifest.Compute) {}, func(c *manifest.Compute) { c.Replicas = 3 },
			true},
		"other cpus of a Deployment": {func(*manifest.Compute) {},
			func(c *manifest.Compute) { c.CPUs = quantity(t, "2") }, false},
		"more workers of a RayCluster": {ray, func(c *manifest.Compute) { c.Distribute.Workers = 3 }, true},
		"other cpus of a RayCluster":   {ray, func(c *manifest.Compute) { c.CPUs = quantity(t, "2") }, false},
		"a label of a Deployment": {func(*manifest.Compute) {},
			func(c *manifest.Compute) { c.Labels = map[string]string{"a": "b"} }, false},
		"the termination of a workload": {func(*manifest.Compute) {},
			func(c *manifest.Compute) { c.InactivityTTL = "3h" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := render(t, minimal(tc.base))[0], render(t, minimal(tc.base, tc.change))[0]
			if got := manifest.SamePods(a, b); got != tc.same {
				t.Errorf("SamePods is %v, want %v", got, tc.same)
			}
		})
	}
}
