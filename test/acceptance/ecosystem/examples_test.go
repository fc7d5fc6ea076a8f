package ecosystem_test

import (
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestEcoExamplesApplyWithAnEmptySecondPlan(t *testing.T) {
	t.Parallel()
	for _, e := range []acctest.Example{
		{Dir: "ray-cluster"},
		{Dir: "pytorchjob-kueue", Env: map[string]string{"TF_VAR_queue": "team"},
			Prepare: func(t *testing.T, ns string) {
				t.Helper()
				cluster.Queue(t, ns, 4)
			}},
		{Dir: "resources/kt_queue", Without: []string{"identity.tf", "import-by-string-id.tf", "kai.tf"}},
		{Dir: "gpu-pool", Env: map[string]string{"POOL_WANDB_API_KEY": "not-a-real-key"}, KubernetesProvider: true,
			Prepare: func(t *testing.T, _ string) {
				t.Helper()
				createTokens(t, "vision")
			}},
	} {
		t.Run(e.Dir, func(t *testing.T) {
			t.Parallel()
			e.Run(t, cluster)
		})
	}
}
