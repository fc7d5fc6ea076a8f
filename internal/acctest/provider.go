package acctest

import (
	"context"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/provider"
)

// Factories serves the provider in the test's own process. It sees nothing of
// this process's environment, so that tests can run side by side.
func Factories(t *testing.T) map[string]func() (tfprotov6.ProviderServer, error) {
	t.Helper()
	return FactoriesWith(t, kube.Env{Getenv: func(string) string { return "" }})
}

// FactoriesWith is Factories with an environment.
func FactoriesWith(t *testing.T, env kube.Env) map[string]func() (tfprotov6.ProviderServer, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel) // after the destroy at the end of the test, unlike t.Context
	return map[string]func() (tfprotov6.ProviderServer, error){
		"kt": providerserver.NewProtocol6WithError(provider.New(ctx, "test", env)()),
	}
}

// Config puts a provider block for the cluster and the namespace before the
// given configuration.
func (c *Cluster) Config(namespace, config string) string {
	return fmt.Sprintf(`
provider "kt" {
  config_path = %q
  namespace   = %q
  username    = "alice"
}
%s`, c.Kubeconfig, namespace, config)
}
