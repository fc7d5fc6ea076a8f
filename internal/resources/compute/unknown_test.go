package compute

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestAttributesOutsideOfPodsChangeNoPodTemplate(t *testing.T) {
	t.Parallel()
	values := map[string]struct {
		at    path.Path
		value any
	}{
		"adopt_existing":        {path.Root("adopt_existing"), true},
		"deletion_protection":   {path.Root("deletion_protection"), true},
		"endpoint":              {path.Root("endpoint").AtName("selector").AtMapKey("a"), "b"},
		"expose":                {path.Root("expose").AtName("hosts").AtListIndex(0), "ml.example.com"},
		"on_expiry":             {path.Root("on_expiry"), "recreate"},
		"on_not_ready":          {path.Root("on_not_ready"), "warn"},
		"pod_disruption_budget": {path.Root("pod_disruption_budget").AtName("min_available"), "1"},
		"sensitive_fields":      {path.Root("sensitive_fields").AtListIndex(0), "spec.template"},
		"service":               {path.Root("service").AtName("type"), "NodePort"},
		"suspend":               {path.Root("suspend"), true},
		"timeouts":              {path.Root("timeouts").AtName("create"), "1h"},
		"wait_for_completion":   {path.Root("wait_for_completion"), true},
	}
	with := func(at path.Path, value any) *model {
		state := nullState(t)
		if value != nil {
			if diags := state.SetAttribute(t.Context(), at, value); diags.HasError() {
				t.Fatalf("%s: %v", at, diags)
			}
		}
		m := modelOf(t, state)
		m.Name, m.Namespace, m.Replicas = types.StringValue("trainer"), types.StringValue("ml"), types.Int64Value(1)
		return m
	}
	bare, _ := render(t.Context(), with(path.Empty(), nil), renderOptions{defaults: defaults})
	for _, name := range outsideOfPods() {
		out, diags := render(t.Context(), with(values[name].at, values[name].value),
			renderOptions{defaults: defaults})
		if values[name].value == nil || diags.HasError() || !manifest.SamePods(workloadIn(bare), workloadIn(out)) {
			t.Errorf("%s is not tested, or changes the pods: %v", name, diags)
		}
	}
}
