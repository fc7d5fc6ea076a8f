package ecosystem_test

import (
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestEcoExamplesApplyWithAnEmptySecondPlan(t *testing.T) {
	t.Parallel()
	for _, e := range []acctest.Example{
		{Dir: "ray-cluster"},
		{Dir: "guides/groups"},
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
			}, Check: trainersOfThePool},
	} {
		t.Run(e.Dir, func(t *testing.T) {
			t.Parallel()
			e.Run(t, cluster)
		})
	}
}

// No Prometheus answers the trigger of the example, so KEDA leaves the number of pods.
func TestEcoKEDAExampleAppliesWithAnEmptySecondPlan(t *testing.T) {
	t.Parallel()
	acctest.Example{Dir: "autoscaled-keda", Check: func(t *testing.T, ns string) {
		t.Helper()
		const path = "jsonpath={.spec.triggers[*].metadata.threshold}"
		if got := keda.Kubectl(t, "get", "scaledobject/llm", "-n", ns, "-o", path); got != "5" {
			t.Errorf("the threshold is %s", got)
		}
	}}.Run(t, keda)
}

// trainersOfThePool checks that the trainers have their settings, and the nodes of the flavor, which Kueue adds.
func trainersOfThePool(t *testing.T, _ string) {
	t.Helper()
	for path, of := range map[string]struct{ objects, want string }{
		`{.items[0].metadata.annotations.kubetorch\.com/inactivity-ttl}`:    {"deployments", "4h"},
		`{.items[0].spec.tolerations[?(@.key=="team")].value}`:              {"pods", "vision"},
		`{.items[0].spec.containers[0].env[?(@.name=="NCCL_DEBUG")].value}`: {"pods", "WARN"},
		`{.items[0].spec.nodeSelector.nvidia\.com/gpu\.product}`:            {"pods", "NVIDIA-H100-80GB-HBM3"},
	} {
		got := cluster.Kubectl(t, "get", of.objects, "-n", "vision", "-l", "kubetorch.com/service=vision-alice", "-o",
			"jsonpath="+path)
		if got != of.want {
			t.Errorf("%s of the %s is %q, want %q", path, of.objects, got, of.want)
		}
	}
}
