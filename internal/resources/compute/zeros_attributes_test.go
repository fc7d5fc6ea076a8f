package compute

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// setting is an attribute that a user may set to zero.
type setting struct {
	name string // as in a message: logging_config.stream_logs
	at   path.Path
	zero attr.Value
}

// settingsOf returns the booleans, numbers, strings and maps of strings among the attributes below a path.
func settingsOf(attributes map[string]schema.Attribute, below path.Path, within string) []setting {
	var out []setting
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		at, full := below.AtName(name), strings.TrimPrefix(within+"."+name, ".")
		switch a := attributes[name].(type) {
		case schema.BoolAttribute:
			if a.Optional {
				out = append(out, setting{full, at, types.BoolValue(false)})
			}
		case schema.Int64Attribute:
			if a.Optional {
				out = append(out, setting{full, at, types.Int64Value(0)})
			}
		case schema.StringAttribute:
			if a.Optional || a.Required {
				out = append(out, setting{full, at, types.StringValue("")})
			}
		case schema.MapAttribute:
			if a.Optional {
				out = append(out, setting{full, at, types.MapValueMust(types.StringType,
					map[string]attr.Value{"x": types.StringValue("")})})
			}
		case schema.SingleNestedAttribute:
			out = append(out, settingsOf(a.Attributes, at, full)...)
		case schema.ListNestedAttribute:
			out = append(out, settingsOf(a.NestedObject.Attributes, at.AtListIndex(0), full)...)
		}
	}
	return out
}

// required returns the attributes without which a setting has no effect.
func required(name string) map[string]attr.Value {
	parent, _, nested := strings.Cut(name, ".")
	text := func(s string) attr.Value { return types.StringValue(s) }
	switch {
	case !nested:
		return nil
	case parent == "tolerations":
		return map[string]attr.Value{"tolerations.key": text("k"), "tolerations.effect": text("NoExecute")}
	case parent == "volumes":
		return map[string]attr.Value{"volumes.claim_name": text("c"), "volumes.mount_path": text("/m")}
	case parent == "distribute":
		return map[string]attr.Value{"distribute.type": text("pytorch"), "distribute.workers": types.Int64Value(2)}
	case parent == "logging_config":
		return map[string]attr.Value{"logging_config.level": text("debug")}
	case parent == "job":
		return map[string]attr.Value{"job.completions": types.Int64Value(2), "job.backoff_limit": types.Int64Value(3),
			"command": types.ListValueMust(types.StringType, []attr.Value{text("train")})}
	case parent == "autoscale":
		return map[string]attr.Value{"autoscale.max_scale": types.Int64Value(3)}
	}
	return nil
}

// For every boolean, number and map of strings, zero and null render different objects, except for those below.
// Empty strings are rejected or mean null.
func TestZeroOfEveryAttributeIsRendered(t *testing.T) {
	t.Parallel()
	same := map[string]string{
		"adopt_existing": "only used by the provider", "deletion_protection": "only used by the provider",
		"wait_for_completion": "only used by the provider",
		"renderer_revision":   "no revision is selected", "freeze": "the default", "suspend": "the default",
		"manifest_only": "the default",
		"gpus":          "the default", "port": "rejected by the schema",
		"gpu_anti_affinity": "equal to the provider's default", "volumes.read_only": "the default",
		"host_network":       "the default",
		"distribute.workers": "no number is requested",
	}
	all := settingsOf(attributes(), path.Empty(), "")
	places := map[string]path.Path{"command": path.Root("command")}
	for _, s := range all {
		places[s.name] = s.at
	}
	renderWith := func(values map[string]attr.Value) owned.Objects {
		state := nullState(t)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if diags := state.SetAttribute(t.Context(), places[name], values[name]); diags.HasError() {
				t.Fatalf("%s: %v", name, diags)
			}
		}
		m := modelOf(t, state)
		m.Name, m.Namespace = types.StringValue("trainer"), types.StringValue("ml")
		if m.Replicas.IsNull() && m.Autoscale.IsNull() && m.Distribute.IsNull() && m.Selector.IsNull() {
			m.Replicas = types.Int64Value(1)
		}
		with := renderOptions{defaults: defaults, registered: true}
		out, diags := render(t.Context(), m, with)
		if diags.HasError() {
			return nil
		}
		return out
	}
	tested := 0
	for _, s := range all {
		if s.zero.Type(t.Context()) == types.StringType {
			continue
		}
		around := required(s.name)
		delete(around, s.name)
		without := renderWith(around)
		if without == nil {
			t.Fatalf("%s: the compute without it is rejected", s.name)
		}
		if around == nil {
			around = map[string]attr.Value{}
		}
		around[s.name] = s.zero
		zero := renderWith(around)
		if zero == nil {
			t.Logf("%s: rejected", s.name)
			continue // not a valid value of this attribute
		}
		tested++
		why, isSame := same[s.name]
		if equalObjects(zero, without) != isSame {
			t.Errorf("%s: zero is rendered like null: %v, want %v (%s)", s.name, !isSame, isSame, why)
		}
	}
	if tested < 15 {
		t.Errorf("only %d attributes tested", tested)
	}
}
