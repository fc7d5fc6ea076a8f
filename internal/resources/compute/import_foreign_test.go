package compute

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

func TestAdoptedObjectsAreCreatedAgain(t *testing.T) {
	t.Parallel()
	const workload, service = "Deployment/ml/trainer", "Service/ml/trainer"
	both := []string{workload, service}
	for name, c := range map[string]struct {
		prior, known, want []string
	}{
		"none is missing":          {both, both, both},
		"the Service was deleted":  {[]string{workload}, both, both},
		"the workload was deleted": {[]string{service}, both, both},
		"never had a Service":      {[]string{workload}, []string{workload}, []string{workload}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, memory, prior := planned(t), owned.Memory{}, owned.Objects{}
			for _, key := range c.known {
				memory[key] = owned.Entry{UID: "1"}
			}
			objects := rendered(t, config, defaults)
			for _, key := range c.prior {
				prior[key] = objects[key]
			}
			p := &planner{planning: &planning{
				Data: &tf.ProviderData{Defaults: defaults}, State: config, Config: config, Plan: config,
				PrivateState: privateState{Foreign: []string{workload}},
				Memory:       func() owned.Memory { return memory },
			}}
			got := p.preserveAdopted(t.Context(), objects, prior, renderOptions{defaults: defaults, heldByQueue: true})
			if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, c.want) {
				t.Errorf("got %q, want %q", keys, c.want)
			}
		})
	}
}

// The number of pods of a workload with an autoscaler is in no generated configuration, so the state has the default,
// like its plan.
func TestAdoptedWorkloadWithAnAutoscalerHasTheDefaultReplicas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		autoscaled bool
		want       int64
	}{"autoscaled": {true, 1}, "not autoscaled": {false, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &reader{reading: &reading{Data: &tf.ProviderData{Defaults: defaults}, State: planned(t)}}
			document := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"replicas": int64(2)}}}
			if err := r.importAsManifest(t.Context(), document, c.autoscaled); err != nil || len(r.Diags) > 0 {
				t.Fatal(err, r.Diags)
			}
			if got := r.State.Replicas.ValueInt64(); got != c.want {
				t.Errorf("%d replicas, want %d", got, c.want)
			}
		})
	}
}
