package chains_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// TestChangesThatNoPlanShowsAreReported changes objects in ways that a correct provider never does.
func TestChangesThatNoPlanShowsAreReported(t *testing.T) {
	t.Parallel()
	const jobSet = `{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"labels":{"a":"LABEL"}},` +
		`"spec":{"replicatedJobs":[{"name":"w","template":{"spec":{"template":{"spec":{"containers":` +
		`[{"image":"IMAGE"}]}}}}}]}}`
	text := func(label, image string) string {
		return strings.NewReplacer("LABEL", label, "IMAGE", image).Replace(jobSet)
	}
	objects := func(uid, text string) map[string]object {
		var content map[string]any
		if err := json.Unmarshal([]byte(text), &content); err != nil {
			t.Fatal(err)
		}
		return map[string]object{"JobSet": {uid, content}}
	}
	state := func(text string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{
			"manifests": cty.MapVal(map[string]cty.Value{"JobSet/ns/c0": cty.StringVal(text)}),
		})
	}
	before := text("b", "a:1")
	for name, c := range map[string]struct {
		action   core.Action
		planned  string // the manifest in the plan
		uid, now string // of the object after the apply
		want     string
	}{
		"a planned change of a label": {core.Update, text("c", "a:1"), "1", text("c", "a:1"), ""},
		"a planned change of pods":    {core.Update, text("b", "a:2"), "1", text("b", "a:2"), ""},
		"a planned replacement":       {core.Replace, text("b", "a:2"), "2", text("b", "a:2"), ""},
		"an empty plan":               {core.NoOp, before, "1", before, ""},
		"a change after an empty plan": {core.NoOp, before, "1", text("c", "a:1"),
			"the plan is empty, but objects change"},
		"a restart": {core.Update, text("c", "a:1"), "1", text("c", "a:2"), "pods are replaced"},
		"a replacement instead of an update": {core.Update, text("c", "a:1"), "2", text("c", "a:1"),
			"is created again"},
	} {
		p := &core.Plan{Action: c.action, Before: state(before), After: state(c.planned)}
		got := unplanned(t, p, objects("1", before), objects(c.uid, c.now))
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q; want %q", name, got, c.want)
		}
	}
}
