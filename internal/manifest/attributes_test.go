package manifest_test

import (
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestAttributesThatARunnerDoesNotSupportAreRejected(t *testing.T) {
	t.Parallel()
	const anyTensorServer = kind.SkyTorch | kind.SkyTorch010 | kind.KPU
	runtime := func(name string) func(*manifest.Compute) {
		return func(c *manifest.Compute) { c.Runtime, c.Replicas = name, 0 }
	}
	skyTorch010 := func(c *manifest.Compute) { c.Runtime, c.Replicas, c.NoOverride = kind.RuntimeSkyTorch, 0, true }
	existing := func(c *manifest.Compute) { c.Selector = map[string]string{"a": "b"} }
	for name, tc := range map[string]struct {
		runs      func(*manifest.Compute)
		supported kind.Runners
		says      string // "" if the attribute is accepted
	}{
		"a tensor server's of Kubetorch": {func(*manifest.Compute) {}, anyTensorServer,
			`x applies only to a tensor server: remove it, or set runtime = "skytorch" or "kpu".`},
		"Kubetorch's of a tensor server": {runtime("skytorch"),
			kind.Kubetorch, `x has no field in the Compute resource of runtime "skytorch": remove it.`},
		"Kubetorch's of KPU": {runtime("kpu"),
			kind.Kubetorch, `x has no field in the Compute resource of runtime "kpu": remove it.`},
		"an override of KPU": {runtime("kpu"),
			kind.SkyTorch, "x has no field in the Compute of KPU, which has no resources"},
		"an override of SkyTorch": {runtime("skytorch"), kind.SkyTorch, ""},
		"an override of SkyTorch 0.1.0": {skyTorch010, kind.SkyTorch,
			"x has no field in the installed Compute (CRD computes.compute.skytorch.dev, v1alpha1), which has " +
				"neither override nor volumeClaimTemplates, like that of SkyTorch 0.1.0"},
		"pods of existing ones": {existing, kind.Kubetorch, "x configures a workload, but with selector alone " +
			"the pods already exist and no workload is created"},
		"a registration of existing pods": {existing, kind.Kubetorch | kind.Existing, ""},
		"pods of a selector and a manifest": {func(c *manifest.Compute) {
			existing(c)
			c.Manifest = fromJSON(t, `{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}`)
		}, kind.Kubetorch, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minimal(tc.runs)
			c.Settings = []manifest.Setting{{Attribute: "x", Runners: tc.supported}}
			if tc.says != "" {
				refused(t, c, "x", tc.says)
			} else if errs := manifest.Validate(c, func(manifest.Path) bool { return false }); len(errs) > 0 {
				t.Error(errs)
			}
		})
	}
}

func TestAttributesAreNotRejectedWhileTheRunnerIsUnknown(t *testing.T) {
	t.Parallel()
	for unknown, c := range map[string]manifest.Compute{
		"runtime":  minimal(),
		"manifest": minimal(func(c *manifest.Compute) { c.Selector = map[string]string{"a": "b"} }),
	} {
		c.Settings = []manifest.Setting{{Attribute: "x", Runners: kind.SkyTorch}}
		if unknown == "manifest" {
			c.Settings[0].Runners = kind.Kubetorch
		}
		errs := manifest.Validate(c, func(at manifest.Path) bool { return at.String() == unknown })
		if len(errs) > 0 {
			t.Errorf("%s: %v", unknown, errs)
		}
	}
}
