package compute

import (
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

const gpuName = "karpenter.k8s.aws/instance-gpu-name"

func TestGPUTypeIsAValueOfTheProvidersLabel(t *testing.T) {
	t.Parallel()
	for gpuType, want := range map[string]manifest.NodeLabel{
		"l4":                {Key: gpuName, Value: "l4"},
		"example.com/a: l4": {Key: "example.com/a", Value: "l4"},
	} {
		m := &model{GPUType: types.StringValue(gpuType)}
		defaults := tf.DefaultSettings()
		defaults.GPUTypeLabel = gpuName
		spec, diags := m.spec(newConverter(t.Context()), defaults)
		if diags.HasError() || spec.GPUType != want {
			t.Errorf("%s: %v, %v", gpuType, spec.GPUType, diags)
		}
	}
}

func TestGPUTypeFollowsTheProvidersLabel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		gpuType      string
		selector     map[string]string // the attribute
		live         map[string]string
		want         string // "" for null
		wantSelector map[string]string
	}{
		"another product": {"l4", nil, map[string]string{gpuName: "h100"}, "h100", nil},
		"none":            {"l4", nil, nil, "", nil},
		"as a label":      {gpuName + ": l4", nil, map[string]string{gpuName: "h100"}, gpuName + ": h100", nil},
		"beside the same value": {"l4", map[string]string{"a": "l4"}, map[string]string{gpuName: "h100", "a": "l4"},
			"h100", map[string]string{"a": "l4"}},
		"only another label": {"l4", map[string]string{"a": "l4"}, map[string]string{gpuName: "l4", "a": "b"}, "l4",
			map[string]string{"a": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &model{GPUType: types.StringValue(test.gpuType), NodeSelector: textsOrNull(t, test.selector)}
			rendered := map[string]string{gpuName: "l4"}
			maps.Copy(rendered, test.selector)
			before, after := &manifest.Compute{NodeSelector: rendered}, &manifest.Compute{NodeSelector: test.live}
			followNodeLabels(nil, m, before, after)
			if m.GPUType.ValueString() != test.want || !m.NodeSelector.Equal(textsOrNull(t, test.wantSelector)) {
				t.Errorf("gpu_type %s, node_selector %s", m.GPUType, m.NodeSelector)
			}
		})
	}
}

func textsOrNull(t *testing.T, of map[string]string) types.Map {
	t.Helper()
	if of == nil {
		return types.MapNull(types.StringType)
	}
	return texts(t, of)
}
