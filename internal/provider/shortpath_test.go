package provider_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/provider"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

const oneOfEach = `
resource "kt_volume" "data" {
  name       = "data"
  size       = "1Gi"
  mount_path = "/data"
}

resource "kt_secret" "token" {
  name      = "token"
  values_wo = { TOKEN = "secret" }
}

resource "kt_image" "torch" {
  name     = "torch"
  image_id = "pytorch/pytorch:2.5.1"
  steps    = [{ pip_install = ["numpy"] }]
}

resource "kt_compute" "trainer" {
  name      = "trainer"
  cpus      = "100m"
  image_ref = kt_image.torch.ref
  env_vars  = { MODE = "fast" }
  volumes   = [kt_volume.data.ref]
  secrets   = [kt_secret.token.ref]
}
`

// Without this test, the short path could give up on every request unnoticed.
func TestAccUnchangedResourcesTakeTheShortPath(t *testing.T) {
	t.Parallel()
	cluster := acctest.OwnCluster(t)
	namespace := cluster.Namespace(t)
	configuration := cluster.Config(namespace, oneOfEach)
	var requests provider.FrameworkRequests
	env := config.Env{Getenv: func(string) string { return "" }}
	completions := run.NewCompletions(func() bool { return true })
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
			"kt": func() (tfprotov6.ProviderServer, error) {
				return provider.NewCountingServer(provider.New(t.Context(), "test", env, completions)(), &requests), nil
			},
		},
		Steps: []resource.TestStep{
			{Config: configuration},
			{
				PreConfig: func() {
					if counts := requests.Reset(); len(counts) == 0 {
						t.Error("no request of the creation was counted")
					}
				},
				Config: configuration,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectEmptyPlan(),
				}},
			},
			{
				PreConfig: func() {
					counts := requests.Reset()
					if len(counts) > 0 {
						t.Errorf("the framework has handled requests about unchanged resources: %v", counts)
					}
				},
				Config: configuration,
			},
		},
	})
}
