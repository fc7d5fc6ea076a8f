package compute

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// Otherwise, an outage during the plan of an imported compute would show as a change of its manifests.
func TestOnlyADryRunWithoutAVerdictEndsThePlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"accepted":         {nil, false},
		"no response":      {&kube.Error{Class: kube.Unreachable, Err: errors.New("connection reset")}, true},
		"failure of etcd":  {&kube.Error{Class: kube.Other, Err: errors.New("leader changed")}, true},
		"interrupted":      {&kube.Error{Class: kube.Canceled, Err: context.Canceled}, true},
		"deleted":          {&kube.Error{Class: kube.NotFound, Err: errors.New("not found")}, false},
		"invalid":          {&kube.Error{Class: kube.Invalid, Err: errors.New("spec.replicas")}, false},
		"immutable":        {&kube.Error{Class: kube.Immutable, Err: errors.New("spec.selector")}, false},
		"refused":          {&kube.Error{Class: kube.Refused, Err: errors.New("exceeded quota")}, false},
		"owned by another": {&kube.Error{Class: kube.Conflict, Err: errors.New("conflict")}, false},
	} {
		if got := unanswered(c.err); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// A plan or refresh that changes only attributes that sameComputed omits would not be returned.
func TestEveryComputedAttributeIsCompared(t *testing.T) {
	t.Parallel()
	// These are configured, or have the default of the schema.
	constant := []string{"deletion_protection", "freeze", "runtime", "suspend"}
	null := nullState(t)
	for name, attribute := range null.Schema.GetAttributes() {
		if !attribute.IsComputed() {
			continue
		}
		var values map[string]tftypes.Value
		if err := null.Raw.As(&values); err != nil {
			t.Fatal(err)
		}
		values = maps.Clone(values)
		values[name] = tftypes.NewValue(values[name].Type(), tftypes.UnknownValue)
		changed := modelOf(t, tfsdk.State{Schema: null.Schema, Raw: tftypes.NewValue(null.Raw.Type(), values)})
		if same := modelOf(t, null).sameComputed(changed); same != slices.Contains(constant, name) {
			t.Errorf("%s: sameComputed returns %t for null and unknown", name, same)
		}
	}
}
