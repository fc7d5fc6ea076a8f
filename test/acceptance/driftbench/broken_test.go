package driftbench_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest/broken"
)

// TestAccDriftBenchFailsWithABrokenProvider runs the bench with a provider that has one fault for each of three
// resources.
func TestAccDriftBenchFailsWithABrokenProvider(t *testing.T) {
	t.Parallel()
	const label = "metadata.labels.team"
	cluster := withCRDs.Started(t)
	binary := broken.Provider(t,
		broken.Replacement{ // the image does not own setup.sh
			File: "internal/manifest/image/configmap.go",
			Old:  "data := map[string]any{DockerfileKey: r.Dockerfile, ScriptKey: r.Script}",
			New:  "data := map[string]any{DockerfileKey: r.Dockerfile}",
		},
		broken.Replacement{ // no drift of a label of a Secret shows
			File: "internal/kube/fields/drift.go",
			Old:  "case a.unchanged(path, now, hasIt, live):",
			New: `case a.unchanged(path, now, hasIt, live) || live.GetKind() == "Secret" && String(path) == "` + label +
				`":`,
		},
		broken.Replacement{ // a change of a volume destroys it
			File: "internal/tf/lifecycle/plan.go",
			Old:  "	r.Hooks.Plan(ctx, p)\n",
			New: "	r.Hooks.Plan(ctx, p)\n	if !p.Creating && r.Kind.Type == \"kt_volume\" {\n" +
				"		p.Replace.Append(path.Root(\"manifests\"))\n	}\n",
		})
	for specimen, want := range map[string]string{
		"image":  "the provider no longer owns ConfigMap kt-image-image: data setup.sh",
		"secret": "must show; planned: false",
		"volume": "must be repaired by an update, but the plan is to replace",
	} {
		t.Run(specimen, func(t *testing.T) {
			t.Parallel()
			b := start(t, cluster, options{only: specimen, binary: binary,
				among: func(m mutation) bool { return strings.HasPrefix(m.what, label) }})
			acts := b.next(t, 1, 0)
			report := b.plan(t)
			for _, a := range acts {
				b.table.judge(a, report)
			}
			if !strings.Contains(strings.Join(b.table.violations, "\n"), want) {
				t.Errorf("violations %q, want one with %q", b.table.violations, want)
			}
		})
	}
}
