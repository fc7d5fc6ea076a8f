package actions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// TestAccPlansShowWhatActionsDidToEveryKind suspends and scales each kind of workload, and expects that the next plan
// shows it and that its apply reverts it, for computes of the provider and for adopted ones.
func TestAccPlansShowWhatActionsDidToEveryKind(t *testing.T) {
	t.Parallel()
	withCRDs.Started(t).WithComputes(t)
	for _, k := range kind.Workloads() {
		if len(k.Refuses) == len(operations()) {
			continue
		}
		for origin, start := range map[string]func(*workload, *acctest.Resources) string{
			"created": (*workload).createCompute, "adopted": (*workload).adopt,
		} {
			t.Run(k.Mode+"."+k.Group+"/"+origin, func(t *testing.T) {
				t.Parallel()
				w := &workload{t: t, kind: k, ns: withCRDs.Namespace(t)}
				computes := withCRDs.Resources(t, "kt_compute", w.ns, "")
				w.expectPlans(computes, start(w, computes))
			})
		}
	}
}

func operations() []kind.Operation {
	return []kind.Operation{kind.Restarting, kind.Suspending, kind.Scaling, kind.Evacuating}
}

// createCompute creates the workload with kt_compute, and returns its configuration.
func (w *workload) createCompute(computes *acctest.Resources) string {
	body := fmt.Sprintf("name = \"trainer\"\non_not_ready = \"ignore\"\nmanifest = <<-EOT\napiVersion: %s\nkind: %s\n"+
		"spec: %s\nEOT\n", w.kind.GroupVersion(), w.kind.Kind, specOf(w.kind))
	if w.kind.Server != nil {
		body = fmt.Sprintf("name = \"trainer\"\non_not_ready = \"ignore\"\nimage = \"a:1\"\nruntime = %q\n",
			w.kind.Server.Runtime)
	}
	computes.Change(w.t, map[string]string{"trainer": body})
	return body
}

// adopt imports a workload that a client without Kubetorch created, and returns its configuration.
func (w *workload) adopt(computes *acctest.Resources) string {
	withCRDs.Apply(w.t, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: trainer}\nspec: %s\n",
		w.kind.GroupVersion(), w.kind.Kind, strings.ReplaceAll(specOf(w.kind), kind.ServiceLabel, "app")), "-n", w.ns)
	computes.Import(w.t, w.ns, []string{"trainer"})
	body := "name = \"trainer\"\non_not_ready = \"ignore\"\n"
	names := []string{"manifest", "manifest_only"}
	if w.kind.Server != nil {
		names = []string{"runtime", "image", "replicas"}
	}
	for _, name := range names {
		switch value := computes.Attribute("trainer", name).(type) {
		case nil:
		case string:
			body += fmt.Sprintf("%s = %q\n", name, strings.ReplaceAll(value, "${", "$${"))
		default:
			body += fmt.Sprintf("%s = %v\n", name, value)
		}
	}
	for _, p := range computes.Plan(w.t, map[string]string{"trainer": body}) {
		if slices.Contains(p.Attributes(), "manifests") || p.Action == core.Replace {
			w.t.Fatalf("the plan after the import is %s of %q and %q", p.Action, p.Attributes(),
				acctest.AsPlan(w.t, p).Fields())
		}
	}
	computes.Change(w.t, map[string]string{"trainer": body})
	return body
}

func (w *workload) expectPlans(computes *acctest.Resources, body string) {
	w.t.Helper()
	bodies := map[string]string{"trainer": body}
	changes := func(attribute string) {
		w.t.Helper()
		p := computes.Change(w.t, bodies)["trainer"]
		if p.Action != core.Update || !slices.Contains(p.Attributes(), attribute) {
			w.t.Errorf("the plan is %s of %q instead of an update of %s", p.Action, p.Attributes(), attribute)
		}
	}
	if w.kind.Supports(kind.Restarting) {
		w.invoke(kind.Restarting, "restart", map[string]any{"wait": false})
		computes.ExpectNoChange(w.t, bodies)
	}
	if w.kind.Supports(kind.Suspending) {
		attribute := "suspend"
		if slices.ContainsFunc(w.kind.Suspension, func(s kind.Setting) bool { return s.Value == int64(0) }) {
			attribute = "replicas"
		}
		w.invoke(kind.Suspending, "suspend", map[string]any{"wait": false})
		changes(attribute)
		after := w.live()
		if manifest.IsSuspended(after.Object, w.kind.Workload) {
			w.t.Errorf("suspended after the apply: %v", after)
		}
		w.invoke(kind.Suspending, "suspend", map[string]any{"wait": false})
		computes.Refresh(w.t, []string{"trainer"})
		w.invoke(kind.Suspending, "resume", map[string]any{"wait": false})
		computes.ExpectNoChange(w.t, bodies)
	}
	if w.kind.Supports(kind.Scaling) {
		w.invoke(kind.Scaling, "scale", map[string]any{"replicas": 3, "wait": false})
		changes("manifests")
	}
}
