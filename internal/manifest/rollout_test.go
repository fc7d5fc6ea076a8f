package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestStrategyOfADeployment(t *testing.T) {
	t.Parallel()
	rolling := func(surge, unavailable any) map[string]any {
		limits := map[string]any{}
		if surge != nil {
			limits["maxSurge"] = surge
		}
		if unavailable != nil {
			limits["maxUnavailable"] = unavailable
		}
		strategy := map[string]any{"type": "RollingUpdate"}
		if len(limits) > 0 {
			strategy["rollingUpdate"] = limits
		}
		return strategy
	}
	recreate := map[string]any{"type": "Recreate"}
	serves := func(c *manifest.Compute) { c.Command, c.Port = []string{"serve"}, 8000 }
	for name, test := range map[string]struct {
		set        func(*manifest.Compute)
		want       any
		pods, gpus int64 // of the surge
	}{
		"Kubetorch's server":             {func(*manifest.Compute) {}, nil, 0, 0},
		"several of Kubetorch's servers": {func(c *manifest.Compute) { c.Replicas = 2 }, recreate, 0, 0},
		"GPUs of several Kubetorch's servers": {
			func(c *manifest.Compute) { c.Replicas, c.GPUs = 2, 1 }, recreate, 0, 0},
		"a server": {serves, rolling(nil, nil), 0, 0},
		"several servers": {
			func(c *manifest.Compute) { serves(c); c.Replicas = 5 }, rolling(nil, nil), 0, 0},
		"a command without a port": {func(c *manifest.Compute) { c.Command, c.Replicas = []string{"train"}, 2 },
			recreate, 0, 0},
		"distributed servers": {func(c *manifest.Compute) {
			serves(c)
			c.Distribute = &manifest.Distribute{Type: "pytorch", Workers: 2}
		}, recreate, 0, 0},
		"GPUs": {func(c *manifest.Compute) { serves(c); c.GPUs = 8 }, rolling(int64(0), int64(1)), 0, 0},
		"GPUs of another vendor": {func(c *manifest.Compute) {
			serves(c)
			c.ExtendedResources = map[string]resource.Quantity{"amd.com/gpu": *quantity(t, "4")}
		}, rolling(int64(0), int64(1)), 0, 0},
		"GPUs of a vendor with another name for them": {func(c *manifest.Compute) {
			serves(c)
			c.ExtendedResources = map[string]resource.Quantity{"gpu.intel.com/xe": *quantity(t, "4")}
		}, rolling(int64(0), int64(1)), 0, 0},
		"GPUs, replaced together": {func(c *manifest.Compute) { serves(c); c.GPUs, c.Strategy = 8, "Recreate" },
			recreate, 0, 0},
		"GPUs and a surge": {func(c *manifest.Compute) { serves(c); c.GPUs, c.Replicas, c.MaxSurge = 8, 3, "50%" },
			rolling("50%", nil), 2, 16},
		"GPUs and pods that may be missing": {
			func(c *manifest.Compute) { serves(c); c.GPUs, c.Replicas, c.MaxUnavailable = 8, 3, "2" },
			rolling(int64(0), int64(2)), 0, 0},
		"GPUs without a surge": {func(c *manifest.Compute) { serves(c); c.GPUs, c.MaxSurge = 8, "0" },
			rolling(int64(0), int64(1)), 0, 0},
		"GPUs that must not be missing": {
			func(c *manifest.Compute) { serves(c); c.GPUs, c.Replicas, c.MaxUnavailable = 2, 5, "0" },
			rolling(nil, int64(0)), 2, 4},
		"a surge of GPUs of Kubetorch's servers": {
			func(c *manifest.Compute) { c.GPUs, c.Replicas, c.Strategy, c.MaxSurge = 2, 2, "RollingUpdate", "1" },
			rolling(int64(1), nil), 1, 2},
		"a surge without GPUs": {
			func(c *manifest.Compute) { serves(c); c.MaxSurge = "1" }, rolling(int64(1), nil), 1, 0},
		"a suspended surge": {func(c *manifest.Compute) {
			serves(c)
			c.GPUs, c.MaxSurge, c.Suspend = 2, "1", true
		}, rolling(int64(1), nil), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			workload := render(t, minimal(test.set))[0]
			got, _ := kind.Find(workload.Object, []string{"spec", "strategy"})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if pods, gpus := manifest.SurgeOf(workload); pods != test.pods || gpus != test.gpus {
				t.Errorf("a surge of %d pods with %d GPUs, want %d with %d", pods, gpus, test.pods, test.gpus)
			}
		})
	}
}

func TestHookOfAManifestIsNotMerged(t *testing.T) {
	t.Parallel()
	c := byo(t, `{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {containers: [{name: kubetorch,
		lifecycle: {preStop: {sleep: {seconds: 5}}}}]}}}}`)
	c.Name, c.Namespace = "svc", "ml"
	c.PreStop = &manifest.PreStop{Exec: &manifest.Exec{Command: []string{"drain"}}}
	hook, _ := kind.Find(render(t, c)[0].Object,
		[]string{"spec", "template", "spec", "containers", "0", "lifecycle", "preStop"})
	if diff := cmp.Diff(map[string]any{"sleep": map[string]any{"seconds": int64(5)}}, hook); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
