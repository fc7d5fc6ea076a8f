package compute

import (
	"fmt"
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// A plan or refresh that changes only an attribute that is not compared would not be returned.
func TestEveryAttributeIsCompared(t *testing.T) {
	t.Parallel()
	null := nullState(t)
	for name := range null.Schema.GetAttributes() {
		var values map[string]tftypes.Value
		if err := null.Raw.As(&values); err != nil {
			t.Fatal(err)
		}
		values = maps.Clone(values)
		values[name] = tftypes.NewValue(values[name].Type(), tftypes.UnknownValue)
		changed := modelOf(t, tfsdk.State{Schema: null.Schema, Raw: tftypes.NewValue(null.Raw.Type(), values)})
		if owned.Unchanged(modelOf(t, null), changed) {
			t.Errorf("%s: null and unknown are the same", name)
		}
	}
}

// No object contains wait_for_completion, so nothing else makes the apply wait.
func TestWaitForCompletionChangesWhatReadyMeans(t *testing.T) {
	t.Parallel()
	null, yes, no := types.BoolNull(), types.BoolValue(true), types.BoolValue(false)
	for name, c := range map[string]struct{ before, after, want types.Bool }{
		"added":                  {null, yes, types.BoolUnknown()},
		"removed":                {yes, null, types.BoolUnknown()},
		"the default is written": {null, no, yes},
		"unchanged":              {yes, yes, yes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := planned(t, func(m *model) { m.Ready, m.WaitForCompletion = yes, c.before })
			p := &planner{planning: &planning{
				State: state, Plan: planned(t, func(m *model) { m.WaitForCompletion = c.after })}}
			if p.status(); !p.Plan.Ready.Equal(c.want) {
				t.Errorf("ready is planned as %s, want %s", p.Plan.Ready, c.want)
			}
		})
	}
}

// KubeRay never deletes its headless Service, so the provider could not create one with the same name.
func TestHeadlessServiceThatAControllerKeepsReplacesTheCompute(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after int
		only          bool
		replaces      bool
	}{
		"no longer several hosts":          {2, 1, false, true},
		"as before":                        {2, 2, false, false},
		"several hosts are new":            {1, 2, false, false},
		"one host, as before":              {1, 1, false, false},
		"the provider renders no Services": {2, 1, true, false},
	} {
		objects := func(hosts int) owned.Objects {
			return rendered(t, planned(t, func(m *model) {
				m.ManifestOnly, m.Replicas = types.BoolValue(c.only), types.Int64Null()
				m.Manifest = tf.DocumentOf(fmt.Sprintf(`{apiVersion: ray.io/v1, kind: RayCluster, metadata: {}, spec: {
					headGroupSpec: {template: {}}, workerGroupSpecs: [
						{groupName: a, replicas: 1, numOfHosts: %d, template: {}}]}}`, hosts))
			}), defaults)
		}
		p := &planner{planning: &planning{}, prior: objects(c.before), rendered: objects(c.after)}
		if p.replaceIfImmutable(t.Context()); (len(p.Replace) > 0) != c.replaces || p.otherIdentity != c.replaces {
			t.Errorf("%s: replaces %s, without a dry run: %t", name, p.Replace, p.otherIdentity)
		}
	}
}
