package compute

import (
	"maps"
	"slices"
	"testing"

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
