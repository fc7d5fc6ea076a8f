package lifecycle_test

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// Terraform passes the ignored configuration to the plan, and the one that is written to the apply.
func TestApplyGetsTheConfigurationOfThePlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		written, ignoring map[string]any // configurations
		size, namespace   types.String   // of the configuration that the hook sees
	}{
		"nothing is ignored": {
			written: map[string]any{"name": "x", "size": "2"}, ignoring: map[string]any{"name": "x", "size": "2"},
			size: types.StringValue("2"), namespace: types.StringNull(),
		},
		"an attribute that is configured": {
			written: map[string]any{"name": "x", "size": "2"}, ignoring: map[string]any{"name": "x", "size": "1"},
			size: types.StringValue("1"), namespace: types.StringNull(),
		},
		"an attribute that was removed": {
			written: map[string]any{"name": "x"}, ignoring: map[string]any{"name": "x", "size": "1"},
			size: types.StringValue("1"), namespace: types.StringNull(),
		},
		"an attribute that was added": {
			written:  map[string]any{"name": "x", "namespace": "ml", "size": "1", "deletion_protection": true},
			ignoring: map[string]any{"name": "x", "namespace": "ml", "size": "1"},
			size:     types.StringValue("1"), namespace: types.StringValue("ml"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			called := false
			h := &hooks{
				plan: func(p *planning) { p.Plan.Manifests, p.Plan.UID = p.State.Manifests, p.State.UID },
				apply: func(ctx context.Context, w *writing) {
					called = true
					if !w.Config.Size.Equal(c.size) || !w.Config.Namespace.Equal(c.namespace) ||
						!w.Config.DeletionProtection.IsNull() || !w.Config.ID.IsNull() {
						t.Errorf("the hook sees %+v", w.Config)
					}
					w.Save(ctx)
				},
			}
			s := inCluster(t, "a", h)
			namespace, _ := c.written["namespace"].(string)
			s.data.Configs.Store(tf.ConfigID("kt_thing", namespace, "x"), s.value(c.written))
			prior := inState(map[string]any{"adopt_existing": false})
			planned := s.planned(prior, c.ignoring, nil)
			applied, err := s.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
				TypeName: "kt_thing", PriorState: s.value(prior), PlannedState: planned.PlannedState,
				Config: s.value(c.written), PlannedPrivate: planned.PlannedPrivate})
			if err != nil || !called || len(planned.Diagnostics)+len(applied.Diagnostics) > 0 {
				t.Errorf("called %t, %v, %v, %v", called, err, planned.Diagnostics, applied.Diagnostics)
			}
		})
	}
}

// Only the record shows whether a write-only attribute is ignored, or one that the provider would otherwise compute.
// The creation that is part of a replacement has no record.
func TestApplyGetsARecordedAttributeOfThePlan(t *testing.T) {
	t.Parallel()
	for recorded, want := range map[string]struct{ size, namespace, key string }{
		"":                    {"1", "", "written"},
		"[]":                  {"1", "", "written"},
		`["namespace"]`:       {"1", "ml", "written"},
		`["key"]`:             {"1", "", ""},
		`["key","namespace"]`: {"1", "ml", ""},
	} {
		s := inCluster(t, "a", &hooks{apply: func(ctx context.Context, w *writing) {
			if w.Config.Size.ValueString() != want.size || w.Config.Namespace.ValueString() != want.namespace ||
				w.Config.Key.ValueString() != want.key {
				t.Errorf("%s: the hook sees %+v, want %+v", recorded, w.Config, want)
			}
			w.Save(ctx)
		}})
		state, values := inState(nil), map[string]string{}
		if recorded != "" {
			values["ignored"] = recorded
		}
		resp, err := s.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{TypeName: "kt_thing",
			PriorState: s.value(state), PlannedState: s.value(state), PlannedPrivate: private(t, values),
			Config: s.value(map[string]any{"name": "x", "size": "2", "key": "written"})})
		if err != nil || len(resp.Diagnostics) > 0 {
			t.Errorf("%s: %v, %v", recorded, resp.Diagnostics, err)
		}
	}
}

func TestIgnoredAttributesAreRecordedUntilNoneAre(t *testing.T) {
	t.Parallel()
	s := inCluster(t, "a", &hooks{plan: func(p *planning) { p.Plan.Manifests = types.MapNull(types.StringType) }})
	store := func(size string) {
		s.data.Configs.Store(tf.ConfigID("kt_thing", "", "x"), s.value(map[string]any{"name": "x", "size": size}))
	}
	config := map[string]any{"name": "x", "size": "1"}
	store("2")
	first := s.planned(inState(nil), config, nil)
	if got := privateValue(t, first.PlannedPrivate, "ignored"); got != `["size"]` {
		t.Errorf("recorded %s", got)
	}
	store("1")
	second := s.planned(inState(nil), config, map[string]string{"ignored": `["size"]`})
	if got := privateValue(t, second.PlannedPrivate, "ignored"); got != "null" {
		t.Errorf("still recorded %s", got)
	}
	third := s.planned(inState(nil), config, nil)
	if got := privateValue(t, third.PlannedPrivate, "ignored"); got != "" {
		t.Errorf("recorded without a change: %s", got)
	}
}

func TestIgnoringAllPlansNoChange(t *testing.T) {
	t.Parallel()
	s := inCluster(t, "a", &hooks{plan: func(p *planning) {
		p.Plan.Size = types.StringValue("9")
		p.Diags.AddError("Called", "")
	}})
	state := inState(nil)
	resp := s.planned(state, state, nil) // the configuration is the state, with what the provider computes
	if len(resp.Diagnostics) > 0 || s.text(resp.PlannedState, "size") != "1" || len(resp.RequiresReplace) > 0 {
		t.Errorf("size %s, %v", s.text(resp.PlannedState, "size"), resp.Diagnostics)
	}
}
