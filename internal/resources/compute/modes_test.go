package compute

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// autoscaled returns the attribute autoscale.
func autoscaled(scaler string, least types.Int64) types.Object {
	return types.ObjectValueMust(map[string]attr.Type{"scaler": types.StringType, "min_scale": types.Int64Type},
		map[string]attr.Value{"scaler": types.StringValue(scaler), "min_scale": least})
}

// A HorizontalPodAutoscaler is disabled while the workload requests no pods, unless its minimum is zero.
func TestComputeWithoutPodsIsReadyIfItsAutoscalerStartsThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scaler string
		least  types.Int64
		want   bool
	}{
		"keda by default":         {manifest.ScalerKEDA, types.Int64Null(), true},
		"keda with a minimum":     {manifest.ScalerKEDA, types.Int64Value(1), true},
		"hpa by default":          {manifest.ScalerHPA, types.Int64Null(), false},
		"hpa with a minimum":      {manifest.ScalerHPA, types.Int64Value(1), false},
		"hpa that scales to zero": {manifest.ScalerHPA, types.Int64Value(0), true},
		"knative":                 {manifest.ScalerKnative, types.Int64Value(0), false},
	} {
		m := planned(t, func(m *model) { m.Autoscale = autoscaled(c.scaler, c.least) })
		if got := m.isReady(ready.Verdict{Suspended: true}); got != c.want {
			t.Errorf("%s: ready is %t, want %t", name, got, c.want)
		}
	}
}
